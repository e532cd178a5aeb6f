"""The table of strategies, by family; and pipelines of several strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import ModuleType
from typing import Any

from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError, did_you_mean
from thimble.agent.messages import Message
from thimble.agent.protocols import Stage, Strategy
from thimble.plugins import load_plugin, plugin_error, plugins
from thimble.strategies.comem import Comem
from thimble.strategies.compaction import Compaction
from thimble.strategies.compress import Compress
from thimble.strategies.critic_summary import CriticSummary
from thimble.strategies.dedup import Dedup
from thimble.strategies.delegate import Delegate
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.none import NoManagement
from thimble.strategies.notes import Notes
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.offload import Offload
from thimble.strategies.progressive_summary import ProgressiveSummary
from thimble.strategies.recital import without_recital
from thimble.strategies.retrieval import Retrieval
from thimble.strategies.sliding_window import SlidingWindow
from thimble.strategies.summary_buffer import SummaryBuffer
from thimble.strategies.thrifty import Thrifty
from thimble.strategies.tidy import Tidy
from thimble.strategies.todo import Todo
from thimble.strategies.truncate import Truncate

FAMILIES: dict[str, dict[str, type[Strategy]]] = {
    "Send everything": {
        "none": NoManagement,
    },
    "Drop old turns": {
        "truncate": Truncate,
        "sliding-window": SlidingWindow,
    },
    "Write results shorter": {
        "tidy": Tidy,
        "dedup": Dedup,
    },
    "Hide old observations": {
        "observation-masking": ObservationMasking,
        "compress": Compress,
    },
    "Move them outside": {
        "offload": Offload,
        "notes": Notes,
        "todo": Todo,
        "retrieval": Retrieval,
        "delegate": Delegate,
    },
    "Summarise old turns": {
        "progressive-summary": ProgressiveSummary,
        "summary-buffer": SummaryBuffer,
        "llm-summary": LLMSummary,
        "critic-summary": CriticSummary,
        "compaction": Compaction,
        "comem": Comem,
    },
    "Hide, then summarise": {
        "hybrid": Hybrid,
        "thrifty": Thrifty,
    },
}
"""Families of strategies by what they do with old messages."""

STRATEGIES = {name: kind for family in FAMILIES.values() for name, kind in family.items()}


@dataclass
class Pipeline(Strategy):
    """Several strategies, left to right, those with references last: each gets the view of the one before."""

    parts: Sequence[Strategy]
    names: Sequence[str] = ()
    stages: Sequence[Stage] = field(default=(), init=False, repr=False, compare=False)

    @property
    def fitted(self) -> bool:
        """Whether the view is made to fit the budget: the last part decides."""
        return self.parts[-1].fitted

    @property
    def priced(self) -> bool:
        """Whether any of the parts depends on the price card."""
        return any(part.priced for part in self.parts)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that any of the parts brings."""
        return tuple(dict.fromkeys(tool for part in self.parts for tool in part.tools))

    @property
    def state(self) -> dict[str, Any]:
        """The states of the parts, by position."""
        return {str(place): part.state for place, part in enumerate(self.parts)}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        for place, part in enumerate(self.parts):
            if part.state is not None:
                part.state = state[str(place)]

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view of the last part, made from the views of the parts before it. Recitals come at the end.

        The parts after a recital have the rest of the budget, and at least half of it.
        """
        recitals: dict[str, Message] = {}
        stages: list[Stage] = []
        self._dropped: dict[str, Strategy] = {}
        for part, name in zip(self.parts, self.names or [""] * len(self.parts), strict=True):
            left = max(budget.limit // 2, budget.limit - sum(map(budget.count, recitals.values())))
            view = list(part.prepare(list(messages), replace(budget, limit=left)))
            if len(view) < len(messages):
                shown = {message.id for message in view}
                self._dropped |= {message.id: part for message in messages if message.id not in shown}
            messages = without_recital(view, messages)
            recitals |= {message.id: message for message in view[len(messages) :]}
            stages.append(Stage(name, [*messages, *recitals.values()]))
        self.stages = stages
        return [*messages, *recitals.values()]

    def why(self, message: Message) -> str:
        """The rule of the part by which the newest view leaves a message out."""
        part = self._dropped.get(message.id)
        return part.why(message) if part else ""


def unknown_strategy_error(name: str) -> UsageError:
    """The error for an unknown strategy, with the nearest name."""
    what = f"there is no strategy {name!r}" if name else "the name of a strategy is missing"
    return UsageError(what, did_you_mean(name, strategy_names(), f"known: {', '.join(strategy_names())}; or ./file.py"))


def strategy_names() -> list[str]:
    """The names of all strategies: the built-in ones, then those of installed packages."""
    return list(dict.fromkeys([*STRATEGIES, *plugins("strategies")]))


def kind_of(name: str) -> Any:
    """The class of a strategy, or its module if it has none.

    Raises:
        UsageError: there is no strategy of this name, or its package cannot be imported.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name not in plugins("strategies"):
        raise unknown_strategy_error(name)
    kind = load_plugin(plugin := plugins("strategies")[name])
    if not callable(getattr(kind, "prepare", None)):
        raise plugin_error(plugin, TypeError("it has no prepare()"))
    return kind if isinstance(kind, type | ModuleType) else type(kind)


def asks_a_model(kind: Any) -> bool:
    """Whether strategies of this class get a model to ask: they have a field `model`."""
    return has_field(kind, "model")


def has_field(kind: Any, name: str) -> bool:
    """Whether a class is a dataclass with this field."""
    return is_dataclass(kind) and any(field.name == name for field in fields(kind))


def list_without_model() -> list[str]:
    """The strategies that ask no model, by name."""
    return [name for name, kind in STRATEGIES.items() if not asks_a_model(kind)]
