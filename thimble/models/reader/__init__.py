"""The reader: what thimble answers with where no language model is at hand. It finds, reads and quotes.

`backend` asks `view` what the messages still show and `request` what is asked. Then `steps` makes the next call, or
`answer` quotes what `evidence` finds. `summary` serves the strategies that fold old turns.
"""

from __future__ import annotations

from thimble.models.reader.backend import Reader

__all__ = ["Reader"]
