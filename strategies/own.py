"""Strategies of the user's own, from a file or a module: what goes wrong in one is told with its own line."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import FrozenInstanceError
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from agent import settle
from agent.errors import ThimbleError, UsageError
from agent.history import History
from agent.messages import Message
from agent.protocols import Strategy
from agent.settle import messages_of

WRITE = "write: def prepare({}messages, budget)"
COPY = "a message never changes: message.rewritten(content, why) makes a copy"
RETURN = "return messages: those that you were given, or copies by message.rewritten(content, why)"
AGAIN = "mend it, and name it again"
ASKED = ("fitted", "priced", "tools", "state", "why")
"""What a strategy may have beside `prepare`: a property that fails is told before it is used."""


def own(spec: str, where: str, member: str, make: Callable[[Any], Strategy]) -> Strategy:
    """The strategy that a file (`where` ends with .py) or a module is, or holds under the name `member`.

    `make` makes one of a class. Whatever goes wrong in its `prepare` is a UsageError too.

    Raises:
        UsageError: it cannot be loaded, or is no strategy.
    """
    with _loading(spec):
        module = _run_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
        found = getattr(module, member) if member else module
        if not callable(getattr(found, "prepare", None)):
            held = {} if member else vars(found)
            classes = [name for name, one in held.items() if isinstance(one, type) and hasattr(one, "prepare")]
            fix = f"write {spec}:{classes[-1]}" if classes else WRITE.format("")
            raise UsageError(f"{spec} defines no prepare()", fix)
        if isinstance(found, type):
            found = make(found)
        elif found is not module:
            found = deepcopy(found)  # a module is read once: each session has one of its own
        _check(spec, found.prepare, "" if found is module else "self, ")
        for name in ASKED:
            getattr(found, name, None)
        _tell(spec, found)
    strategy: Strategy = found
    return strategy


def _run_file(path: Path) -> ModuleType:
    """The module of a file, read anew each time; dataclasses look it up by its name while it is read."""
    loader = importlib.util.spec_from_file_location(f"strategy of {path.stem}", path) if path.is_file() else None
    if loader is None or loader.loader is None:
        raise UsageError(f"there is no file {path}", "give the path of a Python file that defines prepare()")
    module = sys.modules[loader.name] = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    return module


@contextmanager
def _loading(spec: str) -> Iterator[None]:
    """What goes wrong in a file of the user's own is the user's to mend, whatever it is."""
    try:
        yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        ours = (__file__, importlib.__file__, str(Path(__file__).with_name("table.py")))
        frames = [at for at in extract_tb(error.__traceback__) if at.filename not in ours and at.filename[0] != "<"]
        line = f" (line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
        raise UsageError(f"{spec} cannot be loaded: {_words(error)}{line}", AGAIN) from error


def _tell(spec: str, strategy: Any) -> None:
    """From now on what goes wrong in its `prepare` is told, and in that of its copies."""
    if "prepare" in getattr(strategy, "__dict__", ()):
        vars(strategy)["prepare"] = _told(spec, strategy.prepare, strategy.prepare)
        return
    kind = type(strategy)
    prepare = _told(spec, lambda self, *given: super(told, self).prepare(*given), strategy.prepare)
    told: Any = type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, "prepare": prepare})
    object.__setattr__(strategy, "__class__", told)


def _told(spec: str, prepare: Callable[..., Any], written: Any) -> Callable[..., Sequence[Message]]:
    """The same `prepare`; what goes wrong in it is a UsageError, with the line of the file where it is written."""
    code = getattr(inspect.unwrap(written), "__code__", None)

    def told(*given: Any) -> Sequence[Message]:
        try:
            return messages_of(prepare(*(list(one) if isinstance(one, History) else one for one in given)))
        except ThimbleError:
            raise
        except BaseException as error:
            ours = (__file__, settle.__file__)
            frames = [at for at in extract_tb(error.__traceback__) if at.filename not in ours]
            file = code.co_filename if code else frames[0].filename if frames else ""
            at = next((at for at in reversed(frames) if at.filename == file), None)
            line = at.lineno if at else code.co_firstlineno if code else None
            where = spec if line is None else f"{spec}, line {line}"
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"stopped in {where}") from error
            if at is None:  # it gave an answer, and that is no list of messages
                raise UsageError(f"{where}: {error}", RETURN) from error
            fix = COPY if isinstance(error, FrozenInstanceError) else AGAIN
            raise UsageError(f"{where}: {_words(error)}, in: {at.line}", fix) from error

    return told


def _words(error: BaseException) -> str:
    """What an error says, even where it is the user's own and cannot be told."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _check(spec: str, prepare: Callable[..., Any], itself: str) -> None:
    """Raises UsageError where `prepare` cannot be called with messages and budget."""
    code = getattr(inspect.unwrap(prepare), "__code__", None)
    where = f"{spec}, line {code.co_firstlineno}" if code else spec
    if inspect.iscoroutinefunction(inspect.unwrap(prepare)):
        raise UsageError(f"{where}: prepare() is async, and nothing awaits it", WRITE.format(itself))
    try:
        inspect.signature(prepare).bind((), None)
    except TypeError as error:
        what = f"{where}: prepare() does not take messages and budget"
        raise UsageError(what, WRITE.format(itself)) from error
