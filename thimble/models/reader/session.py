"""Questions about the session itself, answered from the request and the session's settings, without a search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from thimble.agent.budget import UNLIMITED
from thimble.agent.messages import Schema
from thimble.models.reader.view import I_CANNOT, LEAD, ReaderView

NAMED = re.compile(r"\b[Mm]y name\b|\bI(?:'m| am) [A-Z]")
ABOUT_ME = (
    "I am thimble's built-in reader: not a language model, but a small program that searches articles and files and "
    "quotes the passages that answer. Ask me what they say, which articles or files there are, or to read one; /help "
    "lists the commands. I do not count, add up or conclude, and I keep no notes."
)
_YOURS = r"(?: (?:the|your|my|this|our))?"
_NOW = (
    r"(?: (?:is|are|do|you|we|i|using|use|used|in|this|it|active|on|right|now|here|size|so|far|still|left|free))*\W*$"
)
FORMS = {
    r"\b(?:who|what) are you\W*$|\bare you (?:a|an|chat|human|real)\b|\bhow do you work": ABOUT_ME,
    rf"\bwhat (?:can|do) you do\b|^\W*(?:what|which) (?:language )?model{_NOW}": ABOUT_ME,
    r"^\W*(?:hi|hello|hey|good (?:morning|evening|day)|thanks?|thank you|thx|bye|goodbye|perfect)\b[^?]{0,40}$": (
        ABOUT_ME
    ),
    rf"^\W*help\W*$|^[\W\d]+$|{LEAD}(?:note|memori[sz]e|jot|(?:remember|keep) (?:that|this|in mind))\b": ABOUT_ME,
    rf"^\W*(?:what|which)(?:['’]s| is)?{_YOURS}(?: current)? strategy{_NOW}": (
        "The strategy is {strategy}. /strategy NAME swaps it."
    ),
    r"^\W*(?:what(?:['’]s| is)|how (?:big|large|long) is) (?:the|your|my) (?:token |context |current )*"
    rf"(?:budget|context|window){_NOW}": "A prompt may have {budget} tokens. /budget N changes that.",
    r"^(?=.*\b(?:full|left|free|used?|remain\w*)\b)\W*how (?:full is|many tokens|much (?:context|room|space|budget))"
    rf"(?: of)?{_YOURS}(?: (?:context|window|budget|do|are|i|we|you|have|has|been|remain\w*))*{_NOW}": (
        "This prompt has {used} of {budget} tokens; {left} are left. /context shows what takes them."
    ),
    r"^\W*(?:what|how many questions) (?:did|have|had) (?:i|we) (?:already |first |just )?"
    r"(?:ask(?:ed)?|talk(?:ed)? about|discuss(?:ed)?)\b.{0,24}$"
    r"|^\W*what (?:was|were|is) my (?:very )?(?:first|last|previous|earlier) (?:questions?|prompts?)\W*$": (
        "In what I am sent you asked before: {asked}."
    ),
    r"^\W*(?:what(?:['’]s| is) my name|who am i|do you (?:know|remember) my name)\W*$": "{name}",
    r"^\W*(?:(?:repeat|say) that(?: again)?|what (?:did|have) you (?:just |last )?(?:say|said|answer|answered))\W*$": (
        "{said}"
    ),
    r"^\W*(?:what|which) tools (?:do|can|may|are)\b.{0,30}$": "I may call {tools}.",
    r"^\W*what (?:have|did) you (?:already )?(?:read|see|seen|forgotten|forget|lost)\b.{0,16}$": (
        "Results that I am still sent: {calls}, of {read}. Hidden or shortened are {hidden}; /context shows which."
    ),
}
"""Forms of questions, and their answers; the first match wins."""


class SessionFacts(NamedTuple):
    """Facts about the session: the SPEC of its strategy, the budget, and the size of this prompt, in tokens."""

    strategy: str = "?"
    budget: int = UNLIMITED
    used: int = 0


NO_FACTS = SessionFacts()


def answer_about_session(view: ReaderView, tools: Sequence[Schema], facts: SessionFacts) -> str:
    """The answer to a question about the session itself; "" for any other question."""
    answer = next((answer for form, answer in FORMS.items() if re.search(form, view.question, re.IGNORECASE)), "")
    given = [act.shows for act in view.acts]
    named = [one.text for one in view.statements if NAMED.search(one.text)]
    return answer.format(
        strategy=facts.strategy,
        budget=f"{facts.budget:,}",
        used=f"~{facts.used:,}",
        left=f"~{max(0, facts.budget - facts.used):,}",
        asked="; ".join(f"“{one}”" for one in view.earlier) or "nothing",
        name=f"You said: “{named[-1]}”" if named else f"{I_CANNOT} tell: your name is not in what I am sent.",
        said=view.said or f"{I_CANNOT} tell: no answer of mine is in what I am sent.",
        tools=", ".join(tool["function"]["name"] for tool in tools if "function" in tool) or "no tool",
        calls=len(given),
        read=", ".join(dict.fromkeys(one.path or one.source for shows in given for one in shows.said)) or "nothing",
        hidden=sum(not one.whole or one.form == "gone" for one in given),
    )
