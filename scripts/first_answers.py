"""How does the built-in reader answer the first question of a stranger? Writes docs/results/first-answers.md.

    python -m scripts.first_answers > docs/results/first-answers.md

Every question is asked in a session of its own. The page has each answer whole, as the reader gave it; only long lines
are wrapped.
"""

from __future__ import annotations

from textwrap import fill

from thimble.agent.events import Answered
from thimble.session.session import Session
from thimble.session.settings import Settings

QUESTIONS = [
    "What is an AI agent?",
    "What is a token?",
    "Should I use RAG or a long context?",
    "Summarise the piece on context rot",
    "what did they decide in the meeting of 2 April",
    "which port does the second server use",
    "what is the capital of France?",
    "who are you?",
]
COLUMNS = 100

HEAD = """\
# First answers

Eight questions that a person might type first, and what the built-in reader answers: to each in a session of its own,
under the strategy `none`. This command makes the page. Nobody edits it, so bad answers stand here too:

```sh
python -m scripts.first_answers
```

The reader is no language model: [it finds passages and quotes them](../explanation/how-the-reader-answers.md).
"""


def answer(question: str) -> str:
    """The reader's answer in a new session that keeps the whole history."""
    session = Session(Settings(backend="reader", strategy="none"))
    return next(event.text for event in session.ask(question) if isinstance(event, Answered))


def wrapped(text: str) -> str:
    """The same words in lines of at most 100 columns, if no word is longer; what goes on a line hangs."""
    return "\n".join(
        fill(line, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def main() -> None:
    """Print the page."""
    print(HEAD)
    for question in QUESTIONS:
        print(f"## {question}\n\n```text\n{wrapped(answer(question))}\n```\n")


if __name__ == "__main__":
    main()
