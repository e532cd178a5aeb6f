"""comem: a memory model summarises in the background while the agent works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from thimble.agent.background import BackgroundCall
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message, turns
from thimble.agent.side import SideModel
from thimble.agent.turns import pinned
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import SECTIONS, Folded, Folding, Piece, before_newest, extra_section

MAX_SUMMARY_TOKENS = 2_048
"""Tokens of a summary, at most (CoMem, section 4.2)."""
FINISHED_SECTIONS = "\n".join(line for line in SECTIONS.split("\n") if not line.startswith("- Pending"))
"""The sections without pending work."""
NO_SUGGESTIONS = "\nSay only what has been asked, done and seen: no suggestion, no advice, no plan of the next step."
"""The request of the paper's memory prompt (appendix B), in our words."""


@dataclass
class Summaries(Folded):
    """The summary in use, the number of prompts it was in, a newer one that waits, and the words of /compact."""

    prompts: int = 0
    newer: Folded = field(default_factory=Folded)
    wish: str = ""


@dataclass
class SummaryUnderWay:
    """A summary that is under way, and the newest message when it was asked for."""

    errand: BackgroundCall
    piece: Piece
    newest: str

    def __deepcopy__(self, memo: object) -> SummaryUnderWay | None:
        """A copy of the strategy shares a finished summary, and not one that is under way."""
        return self if self.errand.ended and not self.errand.bug else None


@dataclass
class Comem(Stateful):
    """Let a second model summarise while the agent works. No waiting, but prompts are longer by the newest turns.

    At step t the memory model starts to summarise all turns up to t - k in the background. The agent continues with its
    current summary and every turn that this does not cover, at least the `k` newest. A new summary replaces the old one
    once that was in k prompts, so that a server prefills each only once (CoMem, Algorithm 1 and Eq. 5; its 2-step-off
    is k=2). The agent waits for the summary under way only if the view is over the budget. The memory model is set by
    --memory; it reads the whole history if its context holds it, else its last summary and the messages since. For
    comparison, `summary=waited` waits for each summary, and `summary=none` makes none (CoMem, section 4.2). A summary
    has at most 2,048 tokens, as in the paper, at three tokens for a word.
    """

    model: SideModel
    k: int = parameter(2, "newest turns kept word for word, and prompts that a summary is in", 1, 1_000, paper=2)
    summary: Literal["background", "waited", "none"] = parameter(
        "background", "summarise while the agent works, make it wait, or drop old turns", paper="background"
    )
    words: int = parameter(400, "length asked of the summary", 20, 683, paper=683)
    suggestions: bool = parameter(True, "whether a summary lists pending work", paper=False)
    memory: Summaries = field(default_factory=Summaries)
    _asked: SummaryUnderWay | None = field(default=None, init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The summary and every turn that it does not cover; see the class."""
        given = turns(messages)
        upto = before_newest(self.k, given, messages) if len(given) > self.k else 0
        if self.summary == "none":
            stays = {message.id for message in pinned(messages)}
            return [message for at, message in enumerate(messages) if at >= upto or message.id in stays]
        sections = SECTIONS if self.suggestions else FINISHED_SECTIONS + NO_SUGGESTIONS
        folding = Folding(
            self.model, self.words, self.memory, sections + extra_section(self.memory.wish), background=True
        )
        if self._asked:
            self._asked.errand.look()
            self._accept_summary()
        if self.memory.prompts >= self.k or not self.memory.summary:
            self._use_newer_summary()
        self._start_summary(folding, messages, upto, self.k, budget)
        if self.summary == "waited":
            self._wait_for_summary()
        while budget.over(view := folding.view(messages)):
            self._start_summary(folding, messages, upto, 1, budget)
            if not self._wait_for_summary():
                break
        self.memory.prompts += 1
        return view

    @property
    def _newest(self) -> str:
        """The turns that stay word for word."""
        return "the newest turn" if self.k == 1 else f"the {self.k} newest turns"

    def why(self, message: Message) -> str:
        """The rule by which a message is left out."""
        return f"nothing but {self._newest} is sent, and no summary"

    def _start_summary(
        self, folding: Folding, messages: Sequence[Message], upto: int, least: int, budget: Budget
    ) -> None:
        """Ask for a summary of the messages before index `upto`, if it would cover at least `least` more turns."""
        if self._asked or self.memory.newer.covers or folding.is_waiting(messages):
            return
        if sum(turn.start < upto for turn in folding.turns_since(messages)) < least:
            return
        piece = self._piece(folding, messages, upto, budget)
        try:
            prompt = piece.prompt if piece else ()
        except BudgetError:
            self.memory.refused = messages[-1].id
            return
        if piece:
            errand = self.model.begin(prompt, "memory", min(MAX_SUMMARY_TOKENS, piece.reply))
            errand.then = self._receive_summary
            self._asked = SummaryUnderWay(errand, piece, messages[-1].id)

    def _piece(self, folding: Folding, messages: Sequence[Message], upto: int, budget: Budget) -> Piece | None:
        """The whole history before the index, or the last summary and the turns since if it is too long for a call."""
        why = f"all but {self._newest}, while the agent went on"
        whole = replace(folding, memory=Folded()).next_piece(messages, upto, budget, why)
        after = folding.next_piece(messages, upto, budget, why)
        return whole if whole and after and len(whole.covers) >= len(after.covers) else after

    def _wait_for_summary(self) -> bool:
        """Wait for the summary under way, and use the newest from now on; return whether the summary changed."""
        if self._asked:
            self._asked.errand.wait()
            self._accept_summary()
        return self._use_newer_summary()

    def _receive_summary(self) -> None:
        """Take the summary as soon as it arrives; a bug is raised when the next view is prepared."""
        if self._asked and not self._asked.errand.bug:
            self._accept_summary()

    def _accept_summary(self) -> None:
        """Take the requested summary, if it has arrived. After a refused one, the next waits for some turns."""
        if not self._asked or not self._asked.errand.ended:
            return
        asked, self._asked = self._asked, None
        made = asked.piece.folded(asked.errand.text)
        if made:
            self.memory.newer = made
        elif not asked.errand.stopped:
            self.memory.refused = asked.newest

    def _use_newer_summary(self) -> bool:
        """Use the newer summary from now on if it covers more; return whether it does."""
        newer, self.memory.newer = self.memory.newer, Folded()
        if more := len(newer.covers) > len(self.memory.covers):
            self.memory.copy_from(newer)
            self.memory.prompts = 0
        return more
