"""A ballot: a room votes which messages the next prompt holds unchanged, and sees its score."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.events import Prepared
from thimble.agent.messages import Message
from thimble.commands.guess import Guess, parse_places
from thimble.repl.commands.context.listing import first_words
from thimble.repl.commands.export.page import Fields
from thimble.repl.screen import trace

MOST_VOTERS, MOST_OF_ONE_ADDRESS = 500, 50
FIRST, NEWEST = 2, 12
"""The messages of a long history that a ballot lists: its first and its newest."""


class Ballot:
    """The last vote of each voter. Open until the next prompt is prepared.

    Only the newest MOST_OF_ONE_ADDRESS voters of one address, and MOST_VOTERS in all, count, so that a flood of votes
    cannot shut others out.
    """

    def __init__(self, number: int, history: Sequence[Message]) -> None:
        self.number, self.messages = number, history
        self._votes: dict[tuple[str, str], frozenset[int]] = {}
        self._guess = Guess(history, frozenset())

    @property
    def is_used(self) -> bool:
        """Whether anybody has voted."""
        return bool(self._votes)

    def vote(self, voter: str, address: str, text: str) -> None:
        """Take a vote, in the words of /predict. Raises UsageError for words that name no messages."""
        self._votes[address, voter] = parse_places(text, len(self.messages))
        same = [each for each in self._votes if each[0] == address]
        for old in same[:-MOST_OF_ONE_ADDRESS] or [*self._votes][:-MOST_VOTERS]:
            del self._votes[old]

    def close(self, event: Prepared) -> None:
        """Close the ballot with the view of this prompt, which says which messages stayed."""
        self._guess.view = event.view

    def fields(self) -> Fields:
        """The messages with their votes, and whether each stayed, which is meaningful once the ballot is closed."""
        stayed, voters = self._guess.stayed, len(self._votes)
        rows, right = [], 0
        for place, message in enumerate(self.messages, 1):
            if FIRST < place <= len(self.messages) - NEWEST:
                continue
            votes = sum(place in vote for vote in self._votes.values())
            stays = place in stayed
            right += stays == (2 * votes > voters)
            rows.append([place, trace.speaker_name(message), first_words(message, 80), votes, stays])
        return {"number": self.number, "voters": voters, "rows": rows, "right": right}
