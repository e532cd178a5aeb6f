"""Strategies of the user's own, from a file or a module: what goes wrong in one is told with its own line."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from agent.errors import ThimbleError, UsageError
from agent.messages import Message
from agent.protocols import Strategy
from agent.settle import messages_of

WRITE = "write: def prepare({}messages, budget)"
COPY = "a message never changes: message.rewritten(content, why) makes a copy"
RETURN = "return messages: those that you were given, or copies by message.rewritten(content, why)"
AGAIN = "mend it, and name it again"


def own(spec: str, where: str, member: str, make: Callable[[Any], Strategy]) -> Strategy:
    """The strategy that a file (`where` ends with .py) or a module is, or holds under the name `member`.

    `make` makes one of a class. Whatever goes wrong in its `prepare` is a UsageError too.

    Raises:
        UsageError: it cannot be loaded, or is no strategy.
    """
    with _loading(spec):
        module = _run_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
        found = getattr(module, member) if member else module
        prepare = getattr(found, "prepare", None)
        if isinstance(found, type) and callable(prepare):
            names = {"prepare": _told(spec, prepare), "__module__": found.__module__}
            found = make(type(found.__name__, (found,), names))  # a class, so that copies of it are told too
        elif found is module and callable(prepare):
            vars(found)["prepare"] = _told(spec, prepare)
    if not callable(prepare):
        held = {} if member else vars(found)
        classes = [name for name, one in held.items() if isinstance(one, type) and hasattr(one, "prepare")]
        raise UsageError(f"{spec} defines no prepare()", f"write {spec}:{classes[-1]}" if classes else WRITE.format(""))
    _check(spec, found.prepare, "" if found is module else "self, ")
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
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        ours = (__file__, importlib.__file__)
        frames = [at for at in extract_tb(error.__traceback__) if at.filename not in ours and at.filename[0] != "<"]
        line = f" (line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
        raise UsageError(f"{spec} cannot be loaded: {type(error).__name__}: {error}{line}", AGAIN) from error


def _told(spec: str, prepare: Callable[..., Any]) -> Callable[..., list[Message]]:
    """The same `prepare`; what goes wrong in it is a UsageError, with the line of its file."""
    code = getattr(prepare, "__code__", None)
    file, begins = (code.co_filename, code.co_firstlineno) if code else ("", "?")

    @functools.wraps(prepare)
    def told(*given: Any) -> list[Message]:
        try:
            return messages_of(prepare(*given))
        except ThimbleError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            at = next((at for at in reversed(extract_tb(error.__traceback__)) if at.filename == file), None)
            where = f"{spec}, line {at.lineno if at else begins}"
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"stopped in {where}") from error
            if at is None:  # it gave an answer, and that is no list of messages
                raise UsageError(f"{where}: {error}", RETURN) from error
            fix = COPY if isinstance(error, FrozenInstanceError) else AGAIN
            raise UsageError(f"{where}: {type(error).__name__}: {error}, in: {at.line}", fix) from error

    return told


def _check(spec: str, prepare: Callable[..., Any], itself: str) -> None:
    """Raises UsageError where `prepare` cannot be called with messages and budget."""
    try:
        inspect.signature(prepare).bind((), None)
    except TypeError as error:
        line = getattr(getattr(inspect.unwrap(prepare), "__code__", None), "co_firstlineno", "?")
        what = f"{spec}, line {line}: prepare() does not take messages and budget"
        raise UsageError(what, WRITE.format(itself)) from error
