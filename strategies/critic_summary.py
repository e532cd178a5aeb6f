"""critic-summary: a running summary, and in the same call a critique of the way so far."""

from __future__ import annotations

from dataclasses import dataclass

from strategies.llm_summary import LLMSummary
from strategies.summary import SECTIONS

REFLECTIONS = """
- Reflections: at most two, each naming one thing that went wrong or in circles, why, and what to try instead; differ \
from earlier reflections, leave small matters out, and write none if all goes well"""


@dataclass
class CriticSummary(LLMSummary):
    """Have each summary say, too, what did not work and what to do otherwise. One call, and longer runs for no gain.

    The schedule is that of llm-summary. The Complexity Trap (section 5.1 and appendix D.3) tried it against the plain
    summary: as many tasks solved, about 25 % more cost and 13 % longer runs.
    """

    sections = SECTIONS + REFLECTIONS
