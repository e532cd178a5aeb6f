"""Every mark that thimble writes into a copy of a result, as a line that may as well stand in an article."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from thimble.agent.budget import Budget
from thimble.agent.fit import shorten_message
from thimble.agent.messages import CANCELLED, NO_RESULT, Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.strategies.compress import compress_message
from thimble.strategies.dedup import make_reference
from thimble.strategies.delegate import replace_with_brief
from thimble.strategies.masks import mask_message
from thimble.strategies.offload import make_reference as offloaded
from thimble.strategies.tidy import rewrite_result

PROSE = " ".join(f"Bees of hive {number} fly far. They come back at noon, or they do not!" for number in range(40))
LINES = "".join(f"key_{number} = {number}\n" for number in range(40))
DRAWN = "\n".join(["\x1b[31mred\x1b[0m", *["the same line"] * 90])
JSON = str([{"id": number, "name": f"Pupil {number}"} for number in range(40)]).replace("'", '"')


def marks(id_: str) -> list[str]:
    """One of each, as they stand in a copy of the message with this id."""
    prose, lines, drawn, json = (
        Message(id_, "tool", text, call_id="c", name="read_file") for text in (PROSE, LINES, DRAWN, JSON)
    )
    copies = (
        mask_message(prose),
        offloaded(prose, 100, 0, ""),
        replace_with_brief(prose, "Bees fly far."),
        compress_message(prose, 0.3),
        compress_message(lines, 0.3),
        shorten_message(prose, 0.3, Budget(1_000, TinyCounter())),
        rewrite_result(drawn, "text"),
        rewrite_result(json, "table"),
    )
    found = [line for copy in copies for line in copy.content.split("\n") if line.startswith("[")]
    return [
        *dict.fromkeys(found),
        make_reference(LINES.strip(), False, id_),
        make_reference(LINES.strip(), True),
        CANCELLED,
        NO_RESULT,
        SUMMARY_TAG,
        "He said […] so.",
        "[…]",
    ]


IDS = st.integers(0, 20).map("m{}".format)
MARKS = IDS.flatmap(lambda id_: st.sampled_from(marks(id_)))
