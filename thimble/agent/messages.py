"""Messages: the one form of a conversation for storing, counting, viewing and sending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count
from operator import is_not
from typing import Any, Literal, get_args

Schema = Mapping[str, Any]
"""A tool as a chat-completions server accepts it: {"type": "function", "function": {name, description, parameters}}."""

Role = Literal["system", "user", "assistant", "tool"]
ROLES = get_args(Role)
TEXT_FIELDS = ("id", "role", "content", "thinking", "call_id", "name", "why", "ref")
ALL_TEXT = (str,) * len(TEXT_FIELDS)
NONE: tuple[()] = ()
MAX_CONTENT_CHARACTERS = 400_000
"""Characters of a content that strategies look into. A longer one they send, cut, hide or drop, but never rewrite."""
CANCELLED, NO_RESULT = "[cancelled before it returned]", "[no result was recorded]"
"""The whole content of a result that was never returned."""
LOSSLESS = "here"
"""The `ref` of a copy that holds all the information of its message."""
YOU = "you"
"""The `ref` of a copy that the user pinned or edited, and the user's name among the makers of a view."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One request of the model to run a tool; `arguments` is the JSON text it wrote, valid or not."""

    id: str
    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if not type(self.id) is type(self.name) is type(self.arguments) is str:
            _make_text(self, "call", ("id", "name", "arguments"))


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the history, or of a view of it. Its id is stable: a view's copy keeps it.

    `call_id` and `name`: the call that a tool's result answers; or `name` is the agent that wrote a recorded summary.
    `why`: the reason for a copy or an insertion. `covers`: the ids of the messages that a summary replaces; a brief has
    its own id. `ref`: where to get the whole text of a copy: the id of a message to recall, `LOSSLESS`, or `YOU`. These
    three are set only in views and never sent to a server: `same` leaves them out. `attached`: the tokens of its
    images; a rewritten copy has none. A value of a wrong type raises TypeError at once.
    """

    id: str
    role: Role
    content: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    why: str = ""
    covers: tuple[str, ...] = ()
    ref: str = ""
    attached: int = 0

    def __post_init__(self) -> None:
        texts = (self.id, self.role, self.content, self.thinking, self.call_id, self.name, self.why, self.ref)
        plain = self.calls is NONE and self.covers is NONE and not self.attached and (*map(type, texts),) == ALL_TEXT
        if not plain or self.role not in ROLES:
            self._check()

    def _check(self) -> None:
        """Raise TypeError if a value has a wrong type."""
        _make_text(self, "message", TEXT_FIELDS, may_lack=("content",))
        if self.role not in ROLES:
            raise TypeError(f"a message has no role {self.role!r:.40}: it is one of {', '.join(ROLES)}")
        if type(self.calls) is not tuple or not all(isinstance(call, ToolCall) for call in self.calls):
            raise TypeError(f"the calls of a message are a tuple of ToolCall, not {self.calls!r:.40}")
        if type(self.covers) is not tuple or not {*map(type, self.covers)} <= {str}:
            raise TypeError(f"the covers of a message are a tuple of ids, not {self.covers!r:.40}")
        if type(self.attached) is not int or self.attached < 0:
            raise TypeError(f"the attached tokens of a message are a whole number, not {self.attached!r:.40}")

    def __hash__(self) -> int:
        return hash((self.id, len(self.content or "")))  # hashing a long content is slow

    def __init_subclass__(cls) -> None:
        raise TypeError("a message has no subclasses: message.rewritten(content, why) makes a copy")

    def __deepcopy__(self, memo: object) -> Message:
        return self

    def rewritten(self, content: str, why: str, *, covers: tuple[str, ...] = (), ref: str = "") -> Message:
        """A copy for a view: the same message with another content, and the reason."""
        kept = (self.thinking, self.calls, self.call_id, self.name)
        ref = ref or ("" if self.ref in (LOSSLESS, YOU) else self.ref)
        return Message(self.id, self.role, content, *kept, why, covers or self.covers, ref)

    @property
    def sent(self) -> tuple[object, ...]:
        """The parts that reach a server: two messages that are equal in them are the same bytes there."""
        return self.role, self.content, self.thinking, self.calls, self.call_id, self.name

    def same(self, other: Message) -> bool:
        """Whether both are the same bytes to a server."""
        return self is other or (self.content == other.content and self.sent == other.sent)


def reuse_message(message: Message, there: Mapping[str, Message]) -> Message:
    """The equal one of these messages, given by id, if there is one; else the message itself."""
    known = there.get(message.id)
    return known if known == message else message


def without_thinking(message: Message, why: str = "") -> Message:
    """A copy without thinking, with `why` as its reason unless it has one; the message itself if it has no thinking."""
    return replace(message, thinking="", why=message.why or why) if message.thinking else message


def _make_text(owner: object, what: str, names: Sequence[str], may_lack: Sequence[str] = ()) -> None:
    """Make these fields plain `str`, also from a subclass of it. Raises TypeError if one is not text."""
    for name in names:
        text = getattr(owner, name)
        if not isinstance(text, str) and not (text is None and name in may_lack):
            raise TypeError(f"the {name} of a {what} is text, not {text!r:.40}")
        if type(text) is not str and text is not None:
            object.__setattr__(owner, name, str.__str__(text))


def blocks(messages: Sequence[Message]) -> list[range]:
    """Group message indices into blocks that are kept or dropped whole, oldest first.

    A user message is a block; so is a turn: an assistant message with the results that follow it,
    T = (reasoning, action, observation). System messages belong to no block.
    """
    found: list[range] = []
    start: int | None = None
    kind = ""
    for index, message in enumerate(messages):
        role = message.role
        if role == "tool" and kind in ("assistant", "tool"):
            continue
        if start is not None:
            found.append(range(start, index))
        start, kind = None if role == "system" else index, role
    if start is not None:
        found.append(range(start, len(messages)))
    return found


def turns(messages: Sequence[Message]) -> list[range]:
    """The blocks that are turns: one model call each, with its results."""
    return [block for block in blocks(messages) if messages[block.start].role == "assistant"]


def pending_turn(messages: Sequence[Message]) -> list[Message]:
    """The turn at the end, if it still waits for a result; nothing may follow it."""
    turn = list(messages[last_turn(messages) :])
    return turn if turn and len(turn[0].calls) >= len(turn) else []


def last_turn(messages: Sequence[Message]) -> int:
    """The index of the last turn, which may still wait for results."""
    start = len(messages) - 1
    while start > 0 and messages[start].role == "tool":
        start -= 1
    return max(0, start)


def common_prefix(left: Sequence[Message], right: Sequence[Message]) -> int:
    """The number of messages at the start of two prompts that are the same bytes to a server."""
    return next((at for at in differences(left, right) if not left[at].same(right[at])), min(len(left), len(right)))


def differences(left: Sequence[Message], right: Sequence[Message]) -> Iterator[int]:
    """The indices at which two lists hold different message objects, up to the end of the shorter one."""
    return compress(count(), map(is_not, left, right))
