"""Confirmed: a folder's thimble.toml decides what can hurt only after its user has said so, once for each value there.

A value that runs code, names a server, or reaches out of the folder waits for that word; the others count at once. The
word is kept as a file in the user's state folder, named by a hash of folder, setting, value and, for a strategy in a
file, the file's bytes: where any of these changes, it is asked for again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from models.wire.address import hidden, masked

SETTINGS_FILE = "./thimble.toml"
LONGEST = 500
"""Letters of a value that can be confirmed: as much as a person reads."""
CODE_LIMIT_BYTES = 1_000_000
WORDS_LIMIT_BYTES = 200_000
SHOWN_LETTERS = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values of a setting can hurt, in words, and why; and which cannot, in a file of this folder."""

    values: str
    why: str
    is_free: Callable[[Any, Path], bool] = lambda value, folder: False


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that waits for its user's word. `mark` is the name under which that word is kept.

    `file`: what brings it along. What another file than the settings brings is left out until then, and stops nobody.
    """

    name: str
    value: str
    why: str
    mark: str
    file: str = SETTINGS_FILE

    def __str__(self) -> str:
        text = shown(self.name, self.value)
        return f"{self.name} = {text if text.isprintable() else ascii(text)}"


def _runs_nothing(value: str, folder: Path) -> bool:
    from strategies.spec import is_code  # not at the start: it imports all strategies

    return not is_code(value)


def _is_inside(value: Path, folder: Path) -> bool:
    return Path(os.path.realpath(value)).is_relative_to(os.path.realpath(folder))


RULES: Mapping[str, Rule] = {
    "backend": Rule(
        "vllm or openai",
        "the server that OPENAI_BASE_URL names would answer",
        lambda value, folder: value not in ("vllm", "openai"),
    ),
    "base_url": Rule("any", "this server would be sent all that you ask, and the key for servers"),
    "strategy": Rule("a file or a module", "this code would run", _runs_nothing),
    "summariser": Rule("NAME@URL", "this server would be sent what you ask", lambda value, folder: "@" not in value),
    "memory": Rule("NAME@URL", "this server would be sent what you ask", lambda value, folder: "@" not in value),
    "embeddings": Rule("a model", "this server would be sent the articles", lambda value, folder: ":" not in value),
    "price": Rule("any", "strategies would decide by these prices"),
    "corpus": Rule("outside the folder", "articles outside this folder would be read", _is_inside),
    "files": Rule("outside the folder", "files outside this folder could be read by the model", _is_inside),
    "notes": Rule("any", "what the model notes would be written there, and read in later sessions"),
    "session_dir": Rule("any", "all that you ask would be kept there"),
}
"""The settings that can hurt. A law holds that each other one is in FREE."""
FREE = (
    *(
        "tidy",
        "model",
        "budget",
        "plain",
        "stage",
        "color",
        "pace",
        "max_turns",
        "think",
        "stream",
        "timeout",
        "reply_timeout",
    ),
    *("keep_alive", "temperature", "seed"),
)
"""The settings of which no value can hurt: at worst an answer is poor, dear on a server of yours, or slow."""


def claims(folder: Path, values: Mapping[str, Any]) -> dict[str, Claim]:
    """Of these values in the file of a folder, those that can hurt, by setting. Opens files of code, and runs nothing.

    Raises:
        UsageError: one of them is too long for a person to confirm.
    """
    found = {}
    for name, value in values.items():
        rule = RULES.get(name)
        if name in FREE or (rule and rule.is_free(value, folder)):
            continue
        text = os.path.realpath(value) if isinstance(value, Path) else str(value)
        if len(text) > LONGEST:
            what = f"{name} in ./thimble.toml is too long to be confirmed: {len(text):,} letters"
            raise UsageError(what, f"write it in at most {LONGEST}, or say --{name.replace('_', '-')}")
        code = _code(text, folder) if name == "strategy" else []
        found[name] = Claim(name, text, rule.why if rule else "", mark(folder, name, text, *code))
    return found


def waiting_words(folder: Path, name: str) -> dict[str, Claim]:
    """What a file of this folder tells the model, as a claim by its name; nothing where it is confirmed, or not there.

    Raises:
        UsageError: it cannot be read.
    """
    found = words_of(folder / name, f"./{name}")
    claim = _words_claim(folder, name, found)
    return {name: claim} if found and not is_confirmed(claim) else {}


def confirmed_words(folder: Path, name: str) -> str:
    """What a file of this folder tells the model; "" where its user has not confirmed it as it is, or it is not there.

    Raises:
        UsageError: it cannot be read.
    """
    found = words_of(folder / name, f"./{name}")
    return found if is_confirmed(_words_claim(folder, name, found)) else ""


def _words_claim(folder: Path, name: str, found: str) -> Claim:
    from corpus.markdown import shorten

    told = f"{len(found):,} letters, from “{shorten(found, SHOWN_LETTERS)}”"
    return Claim(name, told, "these would stand in front of every prompt", mark(folder, name, found), f"./{name}")


def words_of(path: Path, called: str) -> str:
    """The text of a file, "" where there is none. Raises UsageError where it cannot be read, or is a link."""
    from corpus.reading import read_text

    try:
        return read_text(path, WORDS_LIMIT_BYTES).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise UsageError(f"{called} cannot be read: {error.strerror}", "mend it or remove it") from error


def shown(name: str, value: object) -> str:
    """The value of a setting for display: without the name and password in an address."""
    return hidden(str(value)) if name == "base_url" else masked(str(value))


def is_confirmed(claim: Claim) -> bool:
    """Whether the user has said so before."""
    return (_folder() / claim.mark).is_file()


def confirm(claims: Mapping[str, Claim]) -> None:
    """Keep the user's word for these, for the user alone to read. Raises UsageError where that cannot be kept."""
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for claim in claims.values():
            file = os.open(folder / claim.mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.write(file, f"{claim}\n".encode())
            os.close(file)
    except OSError as error:
        what = f"what you confirm cannot be kept in {folder}: {error.strerror}"
        raise UsageError(what, "make that folder yours, or say the same with flags") from error


def check(claims: Mapping[str, Claim]) -> None:
    """Raise UsageError if a setting waits for the user's word."""
    waiting = [claim for claim in claims.values() if claim.file == SETTINGS_FILE]
    if waiting:
        told = ", ".join(map(str, waiting))
        flags = ", ".join(f"--{claim.name.replace('_', '-')}" for claim in waiting)
        what = f"./thimble.toml sets what counts only after you have confirmed it: {told}"
        raise UsageError(what, f"if you want that, type thimble trust in this folder; else say others with {flags}")


def mark(folder: Path, name: str, *texts: str) -> str:
    """The name of the user's word on these texts of this name in a folder."""
    import json
    from hashlib import sha256

    return sha256(json.dumps([os.path.realpath(folder), name, *texts]).encode()).hexdigest()


def _code(spec: str, folder: Path) -> list[str]:
    """The bytes of each file that a SPEC names, in latin-1; "" for one that cannot be read."""
    from strategies.spec import Kind, parse_spec

    found = []
    for part in parse_spec(spec):
        if part.kind is Kind.FILE:
            with suppress(OSError, RuntimeError, ValueError):  # it is gone, or nobody is this ~user
                path = folder / Path(part.name).expanduser()
                about = path.stat()
                if about.st_size > CODE_LIMIT_BYTES:
                    what = f"{part.name} is too large to be confirmed: {about.st_size:,} bytes"
                    raise UsageError(what, f"write it in at most {CODE_LIMIT_BYTES:,}, or say --strategy")
                found.append(path.read_bytes().decode("latin-1") if stat.S_ISREG(about.st_mode) else "")
    return found


def _folder() -> Path:
    from platformdirs import user_state_dir

    return Path(user_state_dir("thimble"), "confirmed")
