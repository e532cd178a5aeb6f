"""What does a first session look like under each strategy? Writes docs/results/first-session.md.

    python -m scripts.first_session > docs/results/first-session.md

Every transcript is the program's own output: standard output and standard error, mixed as in a terminal, from its own
process with the built-in reader. Times, and the progress of what is done once, are blanked: they differ from run to
run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from tempfile import TemporaryDirectory

PROMPTS = [
    "What articles do you have about AI agents?",
    "Read the article about context windows",
    "Now read the article about testing LLM applications",
    "Compare what you've learned about context management and testing",
]
STRATEGIES = ["none", "sliding-window", "summary-buffer", "observation-masking", "hybrid"]

HEAD = """\
# A first session, five times

Four questions, the default budget of 4,000 tokens, the built-in reader, once under each strategy. This command makes
the page:

```sh
python -m scripts.first_session
```

The reader is no language model: it quotes from its view. If a strategy removes a text from the view, the reader must
read the text again. Times are blanked (`…`).
"""


def transcript(strategy: str) -> str:
    """The output of the four questions under one strategy, in one process without a terminal."""
    prompts = [word for prompt in PROMPTS for word in ("-p", prompt)]
    with TemporaryDirectory() as kept:
        command = [
            sys.executable,
            "-m",
            "thimble",
            "--backend",
            "reader",
            "--strategy",
            strategy,
            "--session-dir",
            kept,
        ]
        run = subprocess.run(
            [*command, *prompts], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        )
    timeless = re.sub(r"^embedding .*\n|\b\d+(\.\d+)? ?(ms|s)\b", _blanked, run.stdout, flags=re.MULTILINE)
    return timeless.replace("\n› ", "\n\n› ").strip("\n")


def _blanked(time: re.Match[str]) -> str:
    return "…" if time[2] else ""


def main() -> None:
    """Print the page."""
    print(HEAD)
    for strategy in STRATEGIES:
        print(f"## {strategy}\n\n```text\n{transcript(strategy)}\n```\n")


if __name__ == "__main__":
    main()
