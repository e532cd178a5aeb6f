"""Facts about a model, read from an answer of any shape; missing or malformed facts are None."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from thimble.models.server import Think
from thimble.models.wire.bounds import clean_name
from thimble.models.wire.http import read_count

Level = bool | str
LEVELS = 8
"""Maximum number of levels of thinking that are read for a model."""
SECONDS_PER_UNIT = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The facts in an answer of `/api/show`; None if the answer does not say.

    `abilities`: "completion", "tools", "thinking", "vision" and so on. `context`: the longest prompt and reply that it
    was trained for, in tokens. `levels`: the possible values of `think`; `usual`: the server's default. `examples`: the
    messages of its Modelfile, which the server puts before every prompt. `remote`: it runs elsewhere and is never
    loaded here. `weights`: the lines of its Modelfile that name its files. `parameters`: how many it has.
    """

    abilities: frozenset[str] | None = None
    context: int | None = None
    levels: tuple[Level, ...] | None = None
    usual: Level | None = None
    family: str = ""
    examples: int = 0
    remote: bool = False
    weights: tuple[str, ...] = ()
    parameters: int | None = None

    def can(self, ability: str) -> bool | None:
        """Whether the model has this ability; None if the server does not say."""
        return None if self.abilities is None else ability in self.abilities


def model_info(answer: Mapping[str, Any]) -> ModelInfo:
    """The facts in an answer of `/api/show`."""
    abilities, thinking = answer.get("capabilities"), _table(answer.get("thinking"))
    details, values, usual = _table(answer.get("details")), thinking.get("values"), thinking.get("default")
    examples, facts = answer.get("messages"), _table(answer.get("model_info"))
    return ModelInfo(
        abilities=frozenset(map(clean_name, abilities)) if isinstance(abilities, list) else None,
        context=next(
            (read_count(value) or None for key, value in facts.items() if key.endswith(".context_length")), None
        ),
        levels=tuple(filter(_is_level, values))[:LEVELS] if isinstance(values, list) else None,
        usual=usual if _is_level(usual) else None,
        family=clean_name(details.get("family")),
        examples=len(examples) if isinstance(examples, list) else 0,
        remote=bool(answer.get("remote_host")),
        weights=tuple(re.findall(r"(?m)^(?:FROM|ADAPTER) .+", str(answer.get("modelfile")))),
        parameters=read_count(facts.get("general.parameter_count")) or None,
    )


def choose_think_level(how: Think, model: str, info: ModelInfo) -> Level | None:
    """The value of `think` in a request: the nearest to the wanted one that the model accepts.

    None means that the request leaves `think` out: the server refuses it for a model that cannot think. Without it, a
    model that can think does think.
    """
    levels = info.levels
    if levels is None:
        if not info.can("thinking"):
            return None
        always = "gpt-oss" in model or info.family.startswith("gptoss")
        levels = ("low", "medium", "high") if always else (True, False)
    names = [level for level in levels if isinstance(level, str)]
    if how == "off":
        nearest: Sequence[Level | None] = (False, "low")
    else:
        nearest = (how, True, *([info.usual] if info.usual in names else []), "medium")
    return next((level for level in nearest if level in levels), next(iter(names), None))


def keep_seconds(keep_alive: str) -> float:
    """How long a model stays loaded after a reply, from the way Ollama writes it: "10m", "300", "-1"."""
    found = re.fullmatch(r"(-?)(\d{1,9})(ms|s|m|h)?", keep_alive.strip())
    if not found:
        return 0.0
    return math.inf if found[1] else int(found[2]) * SECONDS_PER_UNIT[found[3] or ""]


def add_default_tag(model: str) -> str:
    """A model's name with its tag; the default tag is `latest`."""
    return model if ":" in model.rsplit("/", 1)[-1] else f"{model}:latest"


def _is_level(value: object) -> TypeGuard[Level]:
    return isinstance(value, bool) or bool(clean_name(value))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
