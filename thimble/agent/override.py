"""Overrides: what the user decides about a message, whatever the strategy would make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from thimble.agent.messages import YOU, Message, blocks
from thimble.agent.turns import pinned

Deed = Literal["pinned", "dropped", "edited", ""]


@dataclass(frozen=True, slots=True)
class Override:
    """What the user decides about the message of this id; "" takes back what was decided before.

    pinned: every view has it whole. dropped: no view has its turn. edited: every view has it, with this text.
    """

    id: str
    deed: Deed = ""
    text: str = ""


NO_OVERRIDES: Mapping[str, Override] = MappingProxyType({})


class Overridden(NamedTuple):
    """The messages that the strategy gets; those of them that stand whole; and those that share a turn with one."""

    messages: Sequence[Message]
    whole: Sequence[Message] = ()
    beside: Sequence[Message] = ()


def overridden(messages: Sequence[Message], overrides: Mapping[str, Override]) -> Overridden:
    """The messages as the user will have them. What the laws keep in every view, the current question too, stays."""
    laws = {message.id for message in pinned(messages)} if overrides else ()
    decided = {id_: one for id_, one in overrides.items() if id_ not in laws}
    if not decided:
        return Overridden(messages)
    left, whole, beside = [*messages[: messages[0].role == "system"]], list[Message](), list[Message]()
    for block in blocks(messages):
        turn = [messages[at] for at in block]
        deeds = [decided[one.id].deed if one.id in decided else "" for one in turn]
        if "dropped" in deeds:
            continue
        for message, deed in zip(turn, deeds, strict=True):
            if deed == "edited":
                message = message.rewritten(decided[message.id].text, "by /edit", ref=YOU)
            left.append(message)
            (whole if deed else beside if any(deeds) else []).append(message)
    return Overridden(left, whole, beside)
