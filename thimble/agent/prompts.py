"""The few sentences that thimble itself adds to a prompt."""

from __future__ import annotations

from thimble.agent.messages import Message

CANNOT_ANSWER = "cannot be answered from here"
"""The words with which a model says that it found no answer."""
SYSTEM_PROMPT = f"""\
You are a research assistant with a small library of articles and a folder of files. \
You answer from what you have read there, never from memory.

Before each tool call say in one short sentence why you make it. After a result, say what you found \
before you go on: old results may be taken away from you, your own words stay.
Find articles with list_articles or search_articles, then read what you need, by section when that is \
enough. Keep what you must not lose with save_note.
When you can answer, answer in a few plain sentences and cite the article behind each fact as [slug], \
or the file as [path:line]. If nothing you can read answers the question, say that it {CANNOT_ANSWER}."""

BY_SCHEMA = """\
You answer questions from a library of articles and a folder of files, never from memory."""
"""The system prompt of a model that calls by schema."""

QUESTION_AGAIN = """\
Question: {}
Copy the two or three sentences that answer it."""
"""The end of a prompt after a long result: a small model copies well, and invents when it paraphrases."""

DELEGATE_PROMPT = """\
You read for a colleague who sees nothing of your work but your last words: a brief.

Find what the task asks for with list_articles or search_articles, read it, by section when that is enough, and read \
no more than you need. Before each tool call say in one short sentence why you make it.
Then write the brief, in at most {words} words: what you found, with exact values and names, each fact with its \
article as [slug] or its file as [path:line]; and what you looked for and did not find."""
"""The system prompt of a sub-agent."""

CLOSING_PROMPT = (
    "No tool calls are left for this question. Answer it now from what is above, "
    "and say so plainly if that is not enough."
)

NUDGE = (
    "That called no tool. If the articles or the files may help, call one now, in the way that you were told; else say "
    "your answer again."
)

SUMMARY_TAG = "[Kept from earlier turns by the assistant; not a new request]"
"""First line of a summary or recital that a strategy inserts, so that no model takes it for the user's words."""

CLOSING_MESSAGE = Message("closing", "user", CLOSING_PROMPT, why="the last turn: a call would not be run any more")
NUDGE_MESSAGE = Message("nudge", "user", NUDGE, why="asked once more: no tool was called")
ANNOUNCED_IDS = (CLOSING_MESSAGE.id, NUDGE_MESSAGE.id)
"""The ids of the messages that the user is notified of, each time."""


def is_framing(message: Message) -> bool:
    """Whether the loop put this message around a view."""
    return message.id in (*ANNOUNCED_IDS, "again", "unfounded") or message.id.startswith("example")
