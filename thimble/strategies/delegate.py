"""delegate: a fresh context reads each bulky old observation, and its brief replaces the observation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, ModelError
from thimble.agent.fit import fit
from thimble.agent.messages import Message, turns
from thimble.agent.side import SideModel
from thimble.agent.turns import question
from thimble.strategies.masks import Masks, mask_message
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful

BRIEF_INSTRUCTION = """\
The result above is about to be put away. Write a brief of it for the one who works on the question.
Keep exact values, names and [sources] as they stand there, and any error with its words.
Write at most {words} words in these sections, a line a point, nothing else.
Sections:
- Found: what the result says that bears on the question, each fact with its [source]
- Read: what it is a result of, and what else can be found there"""
BRIEF_HEAD = "[shortened to a brief: an old result of {name}, {letters:,} characters; call it again for the whole]"
MAX_BRIEFS = 6
"""The most model calls for one view."""
PATIENCE_TURNS = 4
"""Turns to wait after an edit that did not help."""
Result = tuple[Message, Message]
"""The message that called the tool, and the observation."""


@dataclass
class Briefs(Masks):
    """The briefs of observations by id ("" if refused), the masks, and the last edit that did not help."""

    briefs: dict[str, str] = field(default_factory=dict)
    tried: str = ""


@dataclass
class Delegate(Stateful):
    """Let a fresh context read each bulky old result, and keep only its brief. Costs one short call for each result.

    Over the budget, a fresh context reads the bulkiest observations outside the `window` newest turns one by one, each
    with the current question and nothing else, until the view is down to `target` of the budget or six are read. Then
    the oldest of the others, earlier briefs too, are masked, and the prefix stays until the view is over the budget
    again. The model itself can delegate whole tasks with the tool delegate. Source: sub-agent delegation, no. 9
    of the ten strategies of Context Window Management (Agent Patterns).
    """

    tools = ("delegate",)

    model: SideModel
    window: int = parameter(2, "newest turns whose observations stay", 1)
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(80, "length asked of a brief; shorter results than twice this are never read", 20, 1_000)
    memory: Briefs = field(default_factory=Briefs)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with briefs and masks in place of old observations; see the class."""
        view = self._view(messages)
        if budget.over(view) and not self._waits(messages):
            self._edit(view, messages, budget)
            view = self._view(messages)
            if budget.over(view):
                self.memory.tried = messages[-1].id
        return view

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        briefs, masked = self.memory.briefs, self.memory.masked

        def shown(message: Message) -> Message:
            if message.id in masked:
                return mask_message(message, masked[message.id])
            brief = briefs.get(message.id)
            return replace_with_brief(message, brief) if brief else message

        return list(map(shown, messages))

    def _waits(self, messages: Sequence[Message]) -> bool:
        """Whether an edit of the last few turns did not help."""
        newest = turns(messages)[-PATIENCE_TURNS:][:1]
        since = messages[newest[0].start :] if newest else messages
        return not messages or any(message.id == self.memory.tried for message in since)

    def _edit(self, view: Sequence[Message], messages: Sequence[Message], budget: Budget) -> None:
        """Shorten the view to the target: briefs first, then masks.

        Nothing changes if all of them together would neither make the view fit nor save a quarter of the budget. If the
        model fails, there are no masks, and the briefs made before stay.
        """
        acts = [turn for turn in turns(view) if view[turn.start].calls]
        old = [(view[turn.start], view[at]) for turn in acts[: -self.window] for at in turn[1:]]
        savings = {one.id: budget.count(one) - budget.count(mask_message(one, "")) for _, one in old}
        size, possible = budget.size(view), sum(saved for saved in savings.values() if saved > 0)
        if possible < min(size - budget.limit, budget.limit / 4):
            return
        goal = self.target * budget.limit
        new: dict[str, str] = {}
        try:
            for one, text, saved in self._briefs(old, question(messages), budget):
                new[one.id] = text
                size -= saved
                if size <= goal or len(new) == MAX_BRIEFS:
                    break
        except ModelError:
            goal = inf
        masked = {}
        for _, one in old:
            if size > goal and one.id not in new and savings[one.id] > 0:
                masked[one.id] = f"the view was over {budget.limit:,} tokens, and this was the oldest result"
                size -= savings[one.id]
        self.memory.briefs.update(new)
        self.memory.masked.update(masked)

    def _briefs(
        self, old: Sequence[Result], asked: Message | None, budget: Budget
    ) -> Iterator[tuple[Message, str, int]]:
        """The observations, largest first (the newer of two equal ones), each with its brief and the tokens saved.

        A brief that is empty or not smaller is refused: it becomes "", and no other is asked for.
        """
        known, least = self.memory.briefs, 2 * self.words
        bulky = [(caller, one) for caller, one in reversed(old) if one.id not in known and budget.count(one) > least]
        for caller, one in sorted(bulky, key=lambda result: -budget.count(result[1])):
            request = self._request(caller, one, asked, budget)
            if not request:
                continue
            text = self.model.ask(request, "brief", max_tokens=3 * self.words).strip()
            saved = budget.count(one) - budget.count(replace_with_brief(one, text))
            yield (one, text, saved) if text and saved > 0 else (one, "", 0)

    def _request(self, caller: Message, one: Message, asked: Message | None, budget: Budget) -> list[Message]:
        """The prompt of a fresh context: question, call, result and instruction; [] if they do not fit."""
        call = tuple(call for call in caller.calls if call.id == one.call_id)
        instruction = Message("brief", "user", BRIEF_INSTRUCTION.format(words=self.words))
        whole = [*([asked] if asked else []), replace(caller, content="", calls=call), one, instruction]
        try:
            fitted = fit(whole, budget)
        except BudgetError:
            return []
        return [*fitted] if len(fitted) == len(whole) else []


@lru_cache(maxsize=8192)
def replace_with_brief(observation: Message, text: str) -> Message:
    """A copy with a brief of the observation."""
    head = BRIEF_HEAD.format(name=observation.name, letters=len(observation.content))
    return observation.rewritten(f"{head}\n{text}", "a fresh context read it for its bulk", covers=(observation.id,))
