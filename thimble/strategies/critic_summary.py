"""critic-summary: a running summary, and in the same call a critique of the work so far."""

from __future__ import annotations

from dataclasses import dataclass

from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.summary import SECTIONS

REFLECTIONS = """
- Reflections: what goes wrong in the work above, as a critic sees it. Consider first, without writing it down:
  Does each step still serve what the user asked for?
  Has it come nearer to an answer since the last summary, and by which result?
  Does it go in circles: the same call, or nearly the same words, with the same outcome?
  Which habit wastes steps, such as searching again instead of reading what was found?
  Was the advice of earlier reflections followed? Why did it help, or not?
  Which single fact would bring the answer, and what has not been tried to get it?
  Then write at most two problems, only those that hold the answer up, each with one or two next steps:
  Problem: what goes wrong, and which steps show it. Next: what to do instead, and why that should work.
  The two are not the same problem in other words, and none repeats an earlier reflection. Leave small matters out; \
if the work goes well, write none. An example, from another task:
  Problem: three searches for "boiling point" listed the same two pages, and neither was opened.
  Next: read the tables of the first page, since its excerpt ends right before them; a fourth search shows the same."""


@dataclass
class CriticSummary(LLMSummary):
    """Judge the work with each summary: what holds it up, and what to do next. No extra call, but longer runs.

    It summarises when llm-summary does. In the same call the model acts as a critic: it asks itself whether the work
    still serves the question, makes progress, goes in circles and follows earlier advice; then it writes at most two
    problems with next steps (The Complexity Trap, appendix D.3, in words of our own). In the paper it solved as
    many tasks as llm-summary, with about 25 % more cost and 13 % longer runs. The built-in reader cannot judge: it
    writes no reflections, or only an error or open question that fits no other section.
    """

    sections = SECTIONS + REFLECTIONS
