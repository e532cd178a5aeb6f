"""Load the user's own strategies from a file or a module. An error in one is a UsageError that names its line."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from traceback import extract_tb
from types import CodeType, ModuleType
from typing import Any

from agent import settle
from agent.budget import Budget
from agent.errors import Stopped, ThimbleError, UsageError
from agent.messages import Message
from agent.protocols import Strategy
from agent.settle import messages_of

HOW_TO_WRITE = "write: def prepare({}messages, budget)"
HOW_TO_COPY = "a message never changes: message.rewritten(content, why) makes a copy"
HOW_TO_RETURN = "return messages: those that you were given, or copies by message.rewritten(content, why)"
HOW_TO_RETRY = "mend it, and name it again"


@dataclass(eq=False)
class Own(Strategy):
    """A strategy of the user's own, adapted to what the loop expects. `inner` is the user's object or module.

    Defaults for members that `inner` lacks: fitted, without tools, price, state and model.
    """

    spec: str
    inner: Any

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view that `inner` makes from its own copy of the list.

        Raises:
            UsageError: `inner` raised an error or did not return messages.
            Stopped: the user pressed Ctrl-C while it ran.
        """
        try:
            return messages_of(self.inner.prepare(list(messages), budget))
        except ThimbleError:
            raise
        except BaseException as error:
            raise self._located(error) from error

    @property
    def fitted(self) -> bool:
        """Whether its view is made to fit the budget."""
        return bool(getattr(self.inner, "fitted", True))

    @property
    def priced(self) -> bool:
        """Whether its views depend on the price card."""
        return bool(getattr(self.inner, "priced", False))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it brings."""
        return tuple(getattr(self.inner, "tools", ()))

    @property
    def model(self) -> object:
        """The model that it may ask, or None."""
        return getattr(self.inner, "model", None)

    @property
    def state(self) -> Any:
        """Everything that it remembers between two calls; None for nothing."""
        return getattr(self.inner, "state", None)

    @state.setter
    def state(self, state: Any) -> None:
        if hasattr(self.inner, "state"):
            self.inner.state = state

    def why(self, message: Message) -> str:
        """The reason of `inner` for leaving this message out; the error's words if `inner.why` fails."""
        rule: Callable[[Message], object] | None = getattr(self.inner, "why", None)
        try:
            return str(rule(message) or "") if rule else ""
        except Exception as error:
            return f"its why() failed: {_words(error)}"

    def _located(self, error: BaseException) -> UsageError | Stopped:
        """The same error in words, with the line in the file of `prepare`."""
        code = _code(self.inner.prepare)
        frames = [at for at in extract_tb(error.__traceback__) if at.filename not in (__file__, settle.__file__)]
        file = code.co_filename if code else frames[0].filename if frames else ""
        at = next((at for at in reversed(frames) if at.filename == file), None)
        line = at.lineno if at else code.co_firstlineno if code else None
        where = self.spec if line is None else f"{self.spec}, line {line}"
        if isinstance(error, KeyboardInterrupt):
            return Stopped(f"stopped in {where}")
        if at is None:  # `prepare` returned something other than messages
            return UsageError(f"{where}: {error}", HOW_TO_RETURN)
        fix = HOW_TO_COPY if isinstance(error, FrozenInstanceError) else HOW_TO_RETRY
        return UsageError(f"{where}: {_words(error)}, in: {at.line}", fix)


def own(spec: str, where: str, member: str, make: Callable[[Any], Strategy]) -> Own:
    """The strategy in a file (`where` ends with .py) or a module: its `member`, or itself. `make` instantiates a class.

    Raises:
        UsageError: it cannot be loaded or is not a strategy.
    """
    try:
        module = _run_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
        found = getattr(module, member) if member else module
        if not callable(getattr(found, "prepare", None)):
            held = {} if member else vars(found)
            classes = [name for name, one in held.items() if isinstance(one, type) and hasattr(one, "prepare")]
            fix = f"write {spec}:{classes[-1]}" if classes else HOW_TO_WRITE.format("")
            raise UsageError(f"{spec} defines no prepare()", fix)
        if isinstance(found, type):
            found = make(found)
        elif found is not module:
            found = deepcopy(found)  # a module is loaded once: each session gets its own copy
        _check(spec, found.prepare, "" if found is module else "self, ")
        strategy = Own(spec, found)
        _ = strategy.fitted, strategy.priced, strategy.tools, strategy.state, getattr(found, "why", None)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the user's own code may raise anything
        room = str(Path(__file__).parent)
        frames = [at for at in extract_tb(error.__traceback__) if not at.filename.startswith((room, "<"))]
        frames = [at for at in frames if at.filename != importlib.__file__]
        line = f" (line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
        raise UsageError(f"{spec} cannot be loaded: {_words(error)}{line}", HOW_TO_RETRY) from error
    return strategy


def _run_file(path: Path) -> ModuleType:
    """The module of a file, loaded again each time; dataclasses look it up by name during loading."""
    loader = importlib.util.spec_from_file_location(f"strategy of {path.stem}", path) if path.is_file() else None
    if loader is None or loader.loader is None:
        raise UsageError(f"there is no file {path}", "give the path of a Python file that defines prepare()")
    module = sys.modules[loader.name] = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    return module


def _check(spec: str, prepare: Callable[..., Any], itself: str) -> None:
    """Raise UsageError if `prepare` cannot be called with messages and budget."""
    code = _code(prepare)
    where = f"{spec}, line {code.co_firstlineno}" if code else spec
    if inspect.iscoroutinefunction(inspect.unwrap(prepare)):
        raise UsageError(f"{where}: prepare() is async, and nothing awaits it", HOW_TO_WRITE.format(itself))
    try:
        inspect.signature(prepare).bind((), None)
    except TypeError as error:
        what = f"{where}: prepare() does not take messages and budget"
        raise UsageError(what, HOW_TO_WRITE.format(itself)) from error


def _code(prepare: Callable[..., Any]) -> CodeType | None:
    """The compiled code of a function, without its decorators; None for any other callable."""
    code: CodeType | None = getattr(inspect.unwrap(prepare), "__code__", None)
    return code


def _words(error: BaseException) -> str:
    """The type of an error and its message; the type alone if the message itself fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
