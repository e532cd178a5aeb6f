"""The reader: answers without a language model. It finds, reads and quotes.

`backend` takes the visible messages from `view` and the user's wish from `request`. Then `answer` makes the next call,
or quotes the passages of `evidence`. `summary` serves the strategies that fold old turns.
"""

from __future__ import annotations

from thimble.models.reader.backend import Reader

__all__ = ["Reader"]
