"""Overrides: the user's decisions about messages, which take precedence over the strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from thimble.agent.messages import YOU, Message, blocks
from thimble.agent.turns import pinned

Decision = Literal["pinned", "dropped", "edited", ""]


@dataclass(frozen=True, slots=True)
class Override:
    """The user's decision about the message of this id; "" takes back an earlier one.

    pinned: every view has it whole. dropped: no view has its turn. edited: every view has it, with this text.
    """

    id: str
    deed: Decision = ""
    text: str = ""


NO_OVERRIDES: Mapping[str, Override] = MappingProxyType({})


def apply_overrides(
    messages: Sequence[Message], overrides: Mapping[str, Override]
) -> tuple[Sequence[Message], Sequence[Message]]:
    """The messages that the strategy gets, and those that every view must have.

    Of these, those with `YOU` as their `ref` are kept whole, others of their turns in any form. Messages that the laws
    keep in every view, such as the current question, are unchanged.
    """
    laws = {message.id for message in pinned(messages)} if overrides else ()
    decided = {id_: one for id_, one in overrides.items() if id_ not in laws}
    if not decided:
        return messages, ()
    given, kept = [*messages[: messages[0].role == "system"]], list[Message]()
    for block in blocks(messages):
        deeds = [decided.get(messages[at].id, Override("")) for at in block]
        if any(one.deed == "dropped" for one in deeds):
            continue
        turn = [_apply_override(one, messages[at]) for one, at in zip(deeds, block, strict=True)]
        given += turn
        kept += turn if any(one.deed for one in deeds) else []
    return given, kept


def _apply_override(decision: Override, message: Message) -> Message:
    if decision.deed == "edited":
        return message.rewritten(decision.text, "by /edit", ref=YOU)
    return replace(message, ref=YOU) if decision.deed else message
