"""Load the user's own strategies from a file or a module. An error in one is a UsageError that names its line."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, replace
from pathlib import Path
from traceback import extract_tb
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

from thimble.agent import laws
from thimble.agent.budget import Budget
from thimble.agent.errors import Stopped, ThimbleError, UsageError, in_line, in_words
from thimble.agent.laws import messages_of
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.strategies import own_code
from thimble.strategies.own_code import HOW_TO_RETRY, call_guarded, in_time

HOW_TO_WRITE = "write: def prepare({}messages, budget)"
HOW_TO_COPY = "a message never changes: message.rewritten(content, why) makes a copy"
HOW_TO_RETURN = "return messages: those that you were given, or copies by message.rewritten(content, why)"
T = TypeVar("T")


@dataclass(eq=False)
class OwnStrategy(Strategy):
    """A user's strategy, adapted to the loop. `inner` is the user's object or module.

    Defaults for members that `inner` lacks: fitted, without tools, price, state and model. `fitted`, `priced` and
    `tools` are read once, when it is loaded.
    """

    spec: str
    inner: Any
    fitted: bool = field(default=True, init=False)
    priced: bool = field(default=False, init=False)
    tools: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        inner = self.inner
        self.fitted = bool(getattr(inner, "fitted", True))
        self.priced = bool(getattr(inner, "priced", False))
        self.tools = _names(getattr(inner, "tools", ()))
        self._code = _code_of(inner.prepare)
        _ = getattr(inner, "state", None), getattr(inner, "why", None)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view that `inner` makes, with its own copy of the budget.

        Raises:
            UsageError: `inner` raised an error or did not return messages.
            Stopped: the user pressed Ctrl-C while it ran.
        """
        try:
            return in_time(lambda: messages_of(self.inner.prepare(messages, replace(budget))))
        except BaseException as error:
            if type(error).__module__ == ThimbleError.__module__ and isinstance(error, ThimbleError):
                raise
            raise self._located(error) from error

    @property
    def model(self) -> object:
        """The model that it may ask, or None."""
        return self._guarded(lambda: getattr(self.inner, "model", None), "model")

    @property
    def state(self) -> Any:
        """Everything that it remembers between two calls; None for nothing. Raises UsageError if it cannot be read."""
        return self._guarded(lambda: getattr(self.inner, "state", None), "state")

    @state.setter
    def state(self, state: Any) -> None:
        def give() -> None:
            if hasattr(self.inner, "state"):
                self.inner.state = state

        self._guarded(give, "state")

    def why(self, message: Message) -> str:
        """The reason of `inner` for leaving this message out; its failure must not cost the answer."""
        rule: Callable[[Message], object] | None = getattr(self.inner, "why", None)
        try:
            return self._guarded(lambda: in_line(str(rule(message) or "")), "why()") if rule else ""
        except UsageError as error:
            return error.what

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnStrategy:
        other = copy(self)
        other.inner = self._guarded(lambda: deepcopy(self.inner, memo), "copy")
        return other

    def _guarded(self, call: Callable[[], T], what: str) -> T:
        return call_guarded(call, f"{self.spec}: its {what} failed")

    def _located(self, error: BaseException) -> UsageError | Stopped:
        """The same error in words, with the line in the file of `prepare`."""
        code, ours = self._code, (__file__, laws.__file__, own_code.__file__)
        frames = [at for at in extract_tb(error.__traceback__) if at.filename not in ours]
        file = code.co_filename if code else frames[0].filename if frames else ""
        at = next((at for at in reversed(frames) if at.filename == file), None)
        line = at.lineno if at else code.co_firstlineno if code else None
        where = self.spec if line is None else f"{self.spec}, line {line}"
        if isinstance(error, KeyboardInterrupt):
            return Stopped(f"stopped in {where}")
        if at is None:  # `prepare` returned something other than messages
            return UsageError(f"{where}: {in_words(error).partition(': ')[2]}", HOW_TO_RETURN)
        fix = HOW_TO_COPY if isinstance(error, FrozenInstanceError) else HOW_TO_RETRY
        return UsageError(f"{where}: {in_words(error)}, in: {in_line(at.line or '')}", fix)


def adapt_strategy(strategy: object) -> OwnStrategy:
    """Adapt a strategy given by Python code: an object with `prepare`, or a function. Raises UsageError."""
    kind: Any = strategy if hasattr(strategy, "__qualname__") else type(strategy)
    spec, inner = f"{kind.__module__}:{kind.__qualname__}", _with_prepare(strategy)
    if not callable(getattr(inner, "prepare", None)):
        raise UsageError(f"{spec} has no prepare()", HOW_TO_WRITE.format("self, "))
    _check_signature(spec, inner.prepare, "" if inner is not strategy else "self, ")
    return OwnStrategy(spec, inner)


def _with_prepare(found: Any) -> Any:
    return SimpleNamespace(prepare=found) if inspect.isfunction(found) else found


def load_own_strategy(spec: str, where: str, member: str, make: Callable[[Any], Strategy]) -> OwnStrategy:
    """The strategy in a file (`where` ends with .py) or a module: its `member`, the module itself, or its only class.

    A member may be a function, too.

    `make` instantiates a class.

    Raises:
        UsageError: it cannot be loaded or is not a strategy.
        Stopped: the user pressed Ctrl-C while it was loaded.
    """
    try:
        return in_time(lambda: _load_member(spec, where, member, make))
    except UsageError:
        raise
    except BaseException as error:  # the user's own code may raise anything
        room = str(Path(__file__).parent)
        frames = [at for at in extract_tb(error.__traceback__) if not at.filename.startswith((room, "<"))]
        frames = [at for at in frames if at.filename != importlib.__file__]
        frames = [at for at in frames if at.filename == frames[0].filename]  # its own lines, not those that it calls
        line = f" (line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
        if isinstance(error, KeyboardInterrupt):
            raise Stopped(f"stopped while {spec} was loaded{line}") from error
        raise UsageError(f"{spec} cannot be loaded: {in_words(error)}{line}", HOW_TO_RETRY) from error


def _load_member(spec: str, where: str, member: str, make: Callable[[Any], Strategy]) -> OwnStrategy:
    module = _run_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
    found = _with_prepare(getattr(module, member)) if member else module
    if not callable(getattr(found, "prepare", None)):
        held = () if member else vars(module).values()
        classes = [one for one in held if isinstance(one, type) and hasattr(one, "prepare")]
        classes = [one for one in classes if one.__module__ == module.__name__]
        if len(classes) != 1:
            fix = f"write {spec}:{classes[-1].__name__}" if classes else HOW_TO_WRITE.format("")
            raise UsageError(f"{spec} defines no prepare()", fix)
        (found,) = classes
    if isinstance(found, type):
        found = make(found)
    elif found is not module:
        found = deepcopy(found)  # a module is loaded once: each session gets its own copy
    _check_signature(spec, found.prepare, "" if found is module else "self, ")
    return OwnStrategy(spec, found)


def _run_file(path: Path) -> ModuleType:
    """The module of a file, read again each time; dataclasses look it up by name during loading.

    Python's compiled copy is not used: within a second, it misses an edit of the same length.
    """
    loader = importlib.util.spec_from_file_location(f"strategy of {path.stem}", path) if path.is_file() else None
    if loader is None or loader.loader is None:
        raise UsageError(f"there is no file {path}", "give the path of a Python file that defines prepare()")
    module = sys.modules[loader.name] = importlib.util.module_from_spec(loader)
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    return module


def _check_signature(spec: str, prepare: Callable[..., Any], itself: str) -> None:
    """Raise UsageError if `prepare` cannot be called with messages and budget."""
    code = _code_of(prepare)
    where = f"{spec}, line {code.co_firstlineno}" if code else spec
    if inspect.iscoroutinefunction(inspect.unwrap(prepare)):
        raise UsageError(f"{where}: prepare() is async, and nothing awaits it", HOW_TO_WRITE.format(itself))
    try:
        inspect.signature(prepare).bind((), None)
    except TypeError as error:
        what = f"{where}: prepare() does not take messages and budget"
        raise UsageError(what, HOW_TO_WRITE.format(itself)) from error


def _code_of(prepare: Callable[..., Any]) -> CodeType | None:
    """The compiled code of a function, without its decorators; None for any other callable."""
    code: CodeType | None = getattr(inspect.unwrap(prepare), "__code__", None)
    return code


def _names(tools: Any) -> tuple[str, ...]:
    """The names of tools. Raises TypeError if they are anything else."""
    names = tuple(tools)
    if isinstance(tools, str) or not all(type(name) is str for name in names):
        raise TypeError("tools is a list of the names of tools")
    return names
