"""The text of a file that a person names: plain or gzipped UTF-8, with or without a byte order mark, up to a bound."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.corpus.reading import file_bytes, read_bounded

GZIP = b"\x1f\x8b"


def file_text(path: Path, most_bytes: int, form: str) -> str:
    """The text of the file; `form` describes the expected file in errors.

    Raises:
        UsageError: it cannot be read, is damaged, is not text, or has more bytes (unpacked).
    """
    try:
        piped = str(path) == "/dev/stdin"
        data = read_bounded(sys.stdin.buffer, most_bytes) if piped else file_bytes(path, most_bytes)
        if data.startswith(GZIP):
            with gzip.open(io.BytesIO(data)) as file:
                data = read_bounded(file, most_bytes)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", form) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is a damaged gzip file ({error})", "download or copy it again") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        why = getattr(error, "strerror", "") or error
        raise UsageError(f"{str(path)[:200]} cannot be read: {why}", "give the path of a file") from error
