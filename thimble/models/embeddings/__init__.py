"""Embeddings: vectors of texts, close to each other if the texts mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scale_to_unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length 1; a row of zeros is unchanged."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = rows / np.maximum(lengths, 1e-9)
    return scaled
