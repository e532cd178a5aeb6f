"""A tour: a lesson in steps. A step tells the user what to look for, offers a line, and waits until it was seen.

It checks the events and the state of the session, not the typed line: any way of getting there counts. A tour sends
nothing by itself. Its words are in `tours/NAME.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thimble.agent.events import Answered, Prepared, ToolReturned
from thimble.session.journal.records import Aside, Branched, Toured
from thimble.session.session import Session

TOURS = ("context", "hour", "strategies")
"""The tours by name, the shortest first."""
FOLDER = Path(__file__).parent / "tours"


@dataclass(frozen=True, slots=True)
class CommandRan:
    """A command has run to its end."""

    command: str


Check = Callable[[Session, object, str], bool]
"""Whether a condition holds in this session after this event, or, if the event is None, by its state alone.

The text is the rest of the check in a step, after its name.
"""


def _probe_outcome(event: object) -> Any:
    """The outcome of a /probe that had a verdict."""
    came = event.came if isinstance(event, Aside) and event.asked[0] == "probe" else {}
    return came if came.get("missing") is not None else {}


TOUR_CHECKS: dict[str, tuple[str, Check]] = {
    "answered": ("an answer", lambda session, event, _: isinstance(event, Answered)),
    "used": (
        "a result of {}",
        lambda session, event, tool: isinstance(event, ToolReturned) and event.ok and event.call.name == tool,
    ),
    "ran": ("the table of /{}", lambda session, event, name: event == CommandRan(name)),
    "strategy-is": ("the strategy {}", lambda session, event, name: session.spec.partition(":")[0] == name),
    "budget-is": (
        "a budget of {} tokens",
        lambda session, event, tokens: (
            (session.agent.limit if session.is_ready else session.settings.budget) == int(tokens)
        ),
    ),
    "edit-seen": (
        "an edit by the strategy",
        lambda session, event, _: isinstance(event, Prepared) and any(event.view.acted.values()),
    ),
    "over-budget": (
        "a prompt over the budget",
        lambda session, event, _: isinstance(event, Prepared) and event.view.tokens > event.view.limit,
    ),
    "planted": ("a planted fact", lambda session, event, _: session.is_ready and bool(session.planted)),
    "guessed": ("a guess", lambda session, event, _: "guess" in session.watchers),
    "probe-missed": ("a /probe that misses", lambda session, event, _: bool(_probe_outcome(event).get("missing"))),
    "probe-found": ("a /probe that finds it", lambda session, event, _: _probe_outcome(event).get("missing") == []),
    "asked-each": (
        "answers of /compare run",
        lambda session, event, _: isinstance(event, Aside) and event.asked[0] == "compare",
    ),
    "forked": ("a new branch", lambda session, event, _: isinstance(event, Branched)),
}
"""The checks that a step can wait for, each with a description."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step: its task, a line to type, the checks that it was seen, and the lesson afterwards.

    `{planted}` in a line is the number of the planted message, and `{hidden}` that of the first one that is not sent
    unchanged.
    """

    say: str
    line: str
    seen: Sequence[str]
    after: str = ""


class Tour:
    """A tour and the session's progress on it: `at` steps are done; `said`: the current one was shown."""

    def __init__(self, name: str, at: int = 0, said: bool = False) -> None:
        import tomllib

        table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        self.name, self.title = name, str(table["title"])
        self.steps = [TourStep(**step) for step in table["step"]]
        self.at, self.said = at, said
        self._came: set[str] = set()

    @property
    def step(self) -> TourStep | None:
        """The current step; None at the end."""
        return self.steps[self.at] if self.at < len(self.steps) else None

    def on_event(self, session: Session, event: object = None) -> None:
        """Note the checks of the current step that hold after this event, or in this state."""
        if self.step:
            self._came |= {check for check in self.step.seen if _check_holds(check, session, event)}

    @property
    def is_seen(self) -> bool:
        """Whether all checks of the step were seen."""
        return self.step is not None and self._came >= {*self.step.seen}

    @property
    def describe_missing(self) -> str:
        """A description of the first check that the step still waits for; "" without one."""
        left = (check for check in self.step.seen if check not in self._came) if self.step else iter(())
        name, _, value = next(left, "").partition(" ")
        return TOUR_CHECKS[name][0].format(value) if name else ""

    def advance(self) -> None:
        """Go to the next step."""
        self.at, self.said, self._came = self.at + 1, False, set()

    def line(self, session: Session) -> str | None:
        """The line that the step offers; None if it has none, or not yet."""
        offered = self.step.line if self.step else None
        if offered is None or "{" not in offered:
            return offered
        return offered.format(**_message_numbers(session)) if session.is_ready else None


def tour_of(session: Session) -> Tour | None:
    """The tour of a session: the one that watches it, or else the one saved in its file."""
    found, kept = session.watchers.get("tour"), session.journal.tree.tour
    if not isinstance(found, Tour) and kept.tour in TOURS:
        found = session.watchers["tour"] = Tour(kept.tour, max(0, kept.step), said=True)
    return found if isinstance(found, Tour) else None


def offered_line(session: Session) -> str | None:
    """The line that the session's tour offers; None without a tour or a line."""
    tour = tour_of(session)
    return tour.line(session) if tour else None


def start_tour(session: Session, tour: Tour | None) -> None:
    """Start or continue this tour in the session; None ends any tour."""
    if tour:
        session.watchers["tour"] = tour
    else:
        session.watchers.pop("tour", None)
    save_progress(session, tour)


def save_progress(session: Session, tour: Tour | None) -> None:
    """Save the tour's progress in the session file if it has changed."""
    now = Toured(tour.name, tour.at) if tour else Toured("", 0)
    if session.journal.begun and now != session.journal.tree.tour:
        session.record(now)


def _check_holds(check: str, session: Session, event: object) -> bool:
    name, _, value = check.partition(" ")
    return TOUR_CHECKS[name][1](session, event, value)


def _message_numbers(session: Session) -> dict[str, int]:
    """The numbers of the messages that a line can name; the newest message's if there is no such message."""
    history, view = session.agent.history, session.agent.ledger.view
    places = {message.id: number for number, message in enumerate(history, 1)}
    hidden = (message.id for message, fate in view.fated if fate != "kept") if view else iter(())
    wanted = {"planted": [one.holder.id for one in session.planted[-1:]], "hidden": [*hidden][:1]}
    return {name: places.get(next(iter(ids), ""), len(history)) for name, ids in wanted.items()}
