"""Static embeddings: the mean of the vectors of a text's tokens, from the data files of the package wordllama."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thimble.models.embeddings import scale_to_unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VECTORS_FILE = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class StaticEmbedder:
    """Vectors of 256 numbers, made on this machine: some 4,000 passages a second on one core.

    Only two data files of wordllama are read (MIT; 16 MB of vectors and a tokenizer); none of its code runs.
    """

    name = "wordllama"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __deepcopy__(self, memo: object) -> StaticEmbedder:
        return self

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector for each text, one a row; zeros for a text without tokens."""
        import numpy as np

        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        for row, tokens in zip(found, self._tokenizer.encode_batch(whole, add_special_tokens=False), strict=True):
            if tokens.ids:
                row[:] = self._vectors[tokens.ids].mean(0)
        return scale_to_unit(found)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _vectors(self) -> NDArray[Any]:
        """The vectors of a safetensors file: 8 bytes with the length of a JSON header, the header, the numbers."""
        import numpy as np

        path = self._folder / VECTORS_FILE
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            ((_, table),) = ((name, about) for name, about in json.loads(file.read(length)).items() if "shape" in about)
        numbers = np.fromfile(path, np.float16, offset=8 + length + table["data_offsets"][0])
        return numbers.reshape(table["shape"]).astype(np.float32)


@cache
def static_embedder() -> StaticEmbedder | None:
    """The static embedder; None if the package or one of its files is missing. Search then goes by words alone."""
    found = find_spec("wordllama")
    for folder in map(Path, (found and found.submodule_search_locations) or ()):
        if (folder / VECTORS_FILE).is_file() and (folder / TOKENIZER).is_file():
            return StaticEmbedder(folder)
    return None
