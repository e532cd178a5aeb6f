"""The reader: what thimble answers with where no language model is at hand. It finds, reads and quotes.

`backend` asks `view` what the messages still show (by way of `observation` and `prose`), `question` what is asked
(by way of `wording` and `reference`), and `ranking` how well each sentence in view answers it. Then `plan` makes the
next call, or `answer` quotes what answers. `summary` serves the strategies that fold old turns.
"""

from __future__ import annotations

from models.reader.backend import Reader

__all__ = ["Reader"]
