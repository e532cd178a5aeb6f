"""Completion: what Tab offers. Commands, strategies with their parameters and values, models, articles, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from thimble.agent.errors import ThimbleError
from thimble.corpus.safe_open import opened, walk
from thimble.models import READER
from thimble.repl.screen.sanitise import clean, line
from thimble.session.tour import TOURS

if TYPE_CHECKING:
    from thimble.repl.commands.command import Command
    from thimble.session.session import Session
    from thimble.strategies.parameter import Parameter

LEAST_LETTERS = 3
"""Letters of a name after which Tab looks for articles and files in a question."""
MOST_FILES = 2_000
MODELS_SECONDS = 0.5
"""Longest that Tab waits for a server to list its models."""
PATHS = (".", "/", "~")
"""What a path begins with."""
OF_SPECS = ("/strategy ", "/compare ", "/fork ", "/retry ")
"""Commands that take SPECs: of one, only what is new is displayed."""
WORDS_OF = {
    "context": ("next", "raw", "prompt"),
    "tidy": ("on", "off"),
    "predict": ("all", "none", "off"),
    "timeline": ("all",),
    "export": ("html", "md", "json"),
    "tour": (*TOURS, "skip", "stop"),
}
"""What goes after a command that has few arguments."""

Offer = tuple[str, str]
"""The text to insert, and its explanation."""


class Completions(Completer):
    """Offers what fits what stands before the cursor."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known_models: list[str] = [READER]
        self._asking: Thread | None = None
        self._arguments: dict[str, Callable[[str], Iterable[Offer]]] = {
            "strategy": specs,
            "compare": self._compared,
            "model": self._models,
            "articles": self._topics,
            "help": _topics_of_help,
            "fork": self._compared,
            "retry": specs,
            "load": self._kept_sessions,
        }

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor; none is offered that could not be shown safely."""
        text = document.text_before_cursor
        try:
            start, offers = self._offers(text)
            done = max(start.rfind(mark) for mark in "+:,= ") + 1 if text.startswith(OF_SPECS) else 0
            for offer, meaning in offers:
                if offer.startswith(start) and offer.isprintable() and clean(offer) == offer:
                    yield Completion(offer, -len(start), display=offer[done:], display_meta=line(meaning))
        except (ThimbleError, OSError):
            return

    def _offers(self, text: str) -> tuple[str, Iterable[Offer]]:
        if not text.startswith("/"):
            word = text.split()[-1] if text and not text[-1].isspace() else ""
            return word, self._names() if len(word) >= LEAST_LETTERS else ()
        command, space, rest = text.partition(" ")
        if not space:
            return command, [(f"/{name}", known.summary) for name, known in _commands().items()]
        name = command[1:]
        rest = rest.lstrip()
        words = [(word, "") for word in WORDS_OF.get(name, ())]
        return rest, self._arguments[name](rest) if name in self._arguments else words

    def _compared(self, text: str) -> Iterator[Offer]:
        """Continuations of the last of several words, which is a SPEC; after `run` a question follows."""
        before, blank, last = text.rpartition(" ")
        if "run" not in before.split():
            yield from ((before + blank + offer, meaning) for offer, meaning in specs(last))

    def _kept_sessions(self, _: str) -> Iterable[Offer]:
        from thimble.repl.commands.sessions import offers

        return offers(self._session)

    def _models(self, text: str) -> list[Offer]:
        """The models, if the server answers soon; else the answer is there at the next Tab. Of a path what goes on."""
        if text.startswith(PATHS):
            return [(path, "a model's file") for path in _paths(text, ".gguf")]
        if not (self._asking and self._asking.is_alive()):
            self._asking = Thread(target=self._ask_models, daemon=True)
            self._asking.start()
        self._asking.join(MODELS_SECONDS)
        return [(name, "") for name in self._known_models]

    def _ask_models(self) -> None:
        self._known_models = self._session.backends.names()

    def _topics(self, _: str) -> list[Offer]:
        if self._session.reading.words:  # Tab waits for nothing
            return []
        library = self._session.library
        return [(tag, "topic") for tag in library.tags] + [(a.slug, a.title) for a in library.articles]

    def _names(self) -> Iterator[Offer]:
        """Names that a question may contain: articles, then files."""
        articles = () if self._session.reading.words else self._session.library.articles
        yield from ((article.slug, article.title) for article in articles)
        yield from ((path, "file") for path in islice(_files(self._session.settings.files), MOST_FILES))


def specs(text: str) -> Iterator[Offer]:
    """Continuations of a SPEC; each is offered with all that stands before it."""
    from thimble.strategies.parameter import as_in_the_paper, parameters
    from thimble.strategies.spec import parse_spec
    from thimble.strategies.table import kind_of, names

    last = parse_spec(text)[-1]
    done, part = text[: last.start], text[last.start :]
    if part.startswith(PATHS):
        yield from ((done + path, "your strategy") for path in _paths(part, ".py"))
        return
    kind = kind_of(last.name) if last.name in names() else None
    taken = {p.name: p for p in parameters(kind)} if kind else {}
    if ":" not in part:
        yield from ((done + known, meaning) for known, meaning in _strategies())
        if taken:
            yield f"{done}{last.name}:", f"set {', '.join(taken)}"
        return
    given, comma, setting = last.settings.rpartition(",")
    done += f"{last.name}:{given}{comma}"
    key, equals, _ = setting.partition("=")
    if not equals:
        known = {earlier.partition("=")[0].strip() for earlier in given.split(",")}
        yield from ((f"{done}{p.name}=", _legal(p)) for p in taken.values() if p.name not in known)
        if kind and "paper" not in known and (papers := as_in_the_paper(kind)):
            yield f"{done}paper", f"as in the paper: {papers}"
    elif key in taken:
        values = dict.fromkeys((taken[key].shown, *taken[key].choices))
        yield from ((f"{done}{key}={value}", _legal(taken[key])) for value in values)


def _commands() -> dict[str, Command]:
    from thimble.repl.commands.table import COMMANDS

    return COMMANDS


def _topics_of_help(text: str) -> list[Offer]:
    if text.startswith("strategy "):
        return [(f"strategy {name}", meaning) for name, meaning in _strategies()]
    return [(name, command.summary) for name, command in _commands().items()]


def _strategies() -> list[Offer]:
    from thimble.plugins import package, plugins
    from thimble.repl.commands.strategy import first_sentence
    from thimble.strategies.table import STRATEGIES

    known = {name: first_sentence(kind) for name, kind in STRATEGIES.items()}
    for name, plugin in plugins("strategies").items():
        known.setdefault(name, f"installed by {package(plugin)}")  # nothing is imported while the user types
    return [*known.items()]


def _legal(parameter: Parameter) -> str:
    return f"default {parameter.shown}: {parameter.meaning} ({parameter.legal})"


def _files(root: Path) -> Iterator[str]:
    """Paths below a folder, relative to it; hidden ones are left out, links are not followed."""
    with suppress(OSError), opened(root, ()) as top:
        for parts, status in walk(top, lambda name, is_folder: not name.startswith(".")):
            if not isinstance(status, OSError):
                yield "/".join(parts)


def _paths(start: str, suffix: str) -> Iterator[str]:
    """Folders, and files with this suffix, that a path goes on to, written as it was begun."""
    folder, slash, _ = start.rpartition("/")
    place = Path(folder + slash).expanduser() if slash else Path()
    for entry in sorted(place.iterdir()) if slash and place.is_dir() else ():
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix == suffix):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
