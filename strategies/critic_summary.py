"""critic-summary: a running summary, and in the same call a critique of the work so far."""

from __future__ import annotations

from dataclasses import dataclass

from strategies.llm_summary import LLMSummary
from strategies.summary import SECTIONS

REFLECTIONS = """
- Reflections: at most two, each naming one thing that went wrong or in circles, why, and what to try instead; differ \
from earlier reflections, leave small matters out, and write none if all goes well"""


@dataclass
class CriticSummary(LLMSummary):
    """Add to each summary what failed and what to do differently. No extra call, but longer runs without more answers.

    It summarises when llm-summary does. The Complexity Trap (section 5.1 and appendix D.3) compared both: as many tasks
    solved, with about 25 % more cost and 13 % longer runs.
    """

    sections = SECTIONS + REFLECTIONS
