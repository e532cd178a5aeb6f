"""The table of settings: default, parser, help, and whether a folder's file or a session may set it.

Nothing heavy is imported here, so that `--help` answers at once.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # as in typing, whose import would cost a quarter of the start
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, Literal

    from thimble.models.server import Calls, Think

    Read = Callable[["Given"], Any]

BACKENDS = ("auto", "ollama", "vllm", "openai", "gguf", "reader")
ADDRESS_OF = {"ollama": "OLLAMA_HOST", "vllm": "OPENAI_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""The environment variable with the address of each backend's server; others have OLLAMA_HOST."""
THINK = ("on", "off", "low", "medium", "high")
CALLS = ("auto", "tools", "schema")
AUTO = "auto"
STATIC, NONE = "static", "none"
EMBEDDINGS = (AUTO, STATIC, NONE)
"""Embeddings without a server; `auto` is `static` if its files are installed, else `none`."""
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
MAX_SEED = 2**31 - 1


Given = namedtuple("Given", "value origin folder hardware", defaults=[None])
"""A value from a source, the name of that source, the folder that its paths are relative to, and hardware.

`hardware` are the machines that a pace may name; None for the built-in ones.
"""


class Setting:
    """A row of `SettingsTable`. A setting's key in a file is its name, its variable is THIMBLE_NAME, its flag --name.

    Attributes:
        read: Parses a value from a source; raises ValueError for one that is not `legal`.
        legal: The legal values, in words.
        help: The help of its flag; "" if it has no flag.
        metavar: The placeholder of the value in `--help`; "" for a flag without a value.
        flag: The flag. One that starts with --no- turns the setting off.
        harmless: Whether a folder's file, which somebody else may have written, may set it: at worst an answer is poor,
            slow or expensive. No such value runs code, chooses a server, a model, a folder or a file, or sets prices.
        kept: Whether a resumed session keeps it.
    """

    def __init__(
        self,
        default: Any,
        read: Read,
        legal: str,
        help: str = "",
        metavar: str = "",
        *,
        flag: str = "",
        harmless: bool = False,
        kept: bool = False,
    ) -> None:
        self._default, self.read, self.legal, self.help, self.metavar = default, read, legal, help, metavar
        self.flag, self.harmless, self.kept = flag, harmless, kept

    def __set_name__(self, table: type, name: str) -> None:
        self.name, self.flag = name, self.flag or f"--{name.replace('_', '-')}"

    @property
    def default(self) -> Any:
        """Its value if no source gives one."""
        return self._default() if callable(self._default) else self._default

    @property
    def argument(self) -> dict[str, Any]:
        """The arguments of argparse for its flag."""
        if self.metavar:
            return {"metavar": self.metavar, "help": self.help}
        const = "false" if self.flag.startswith("--no-") else True
        return {"action": "store_const", "const": const, "dest": self.name, "help": self.help}


def text(given: Given) -> str:
    """Any text."""
    if not isinstance(given.value, str):
        raise ValueError
    return given.value.strip()


def one_of(*words: str) -> Read:
    """One of these words."""

    def read(given: Given) -> str:
        if given.value not in words:
            raise ValueError
        return str(given.value)

    return read


def backend_name(given: Given) -> str:
    """A built-in backend, or one of an installed package."""
    from thimble.plugins import plugins

    name = text(given)
    if name not in BACKENDS and name not in plugins("backends"):
        raise ValueError
    return name


def number(kind: type[int] | type[float], least: int, most: int) -> Read:
    """A number in these bounds."""

    def read(given: Given) -> float:
        if isinstance(given.value, bool) or not isinstance(given.value, (kind, int, str)):
            raise ValueError
        number = kind(given.value)
        if not least <= number <= most:
            raise ValueError
        return number

    return read


def unless_auto(read: Read) -> Read:
    """None for `auto`."""
    return lambda given: None if given.value == AUTO else read(given)


def read_switch(given: Given) -> bool:
    """On or off."""
    word = str(given.value).lower()
    if word not in YES + NO:
        raise ValueError
    return word in YES


ServedEmbeddings = namedtuple("ServedEmbeddings", "kind model url")
"""A model of embeddings: its kind of server, its name there, and the server's address, "" for the usual one."""


def served_embeddings(text: str) -> ServedEmbeddings | None:
    """The model in KIND:NAME or KIND:NAME@URL; None if the text is neither."""
    kind, _, rest = text.partition(":")
    model, at, url = rest.rpartition("@") if "@" in rest else (rest, "", "")
    return ServedEmbeddings(kind, model, url) if kind in ADDRESS_OF and model and (url or not at) else None


def embedding_model(given: Given) -> str:
    """A word of EMBEDDINGS, or a model of a server."""
    if text(given) not in EMBEDDINGS and not served_embeddings(text(given)):
        raise ValueError
    return text(given)


def price_card(given: Given) -> str:
    """`auto`, or a card."""
    from thimble.agent.errors import UsageError
    from thimble.models.prices import read_prices

    card = text(given)
    try:
        _ = card == AUTO or read_prices(card)
    except UsageError as error:
        raise ValueError from error
    return card


def read_pace(given: Given) -> str:
    """A pace, as written."""
    from thimble.models.hardware import HARDWARE
    from thimble.models.pace import parse_paces

    if isinstance(given.value, bool) or not isinstance(given.value, int | float | str):
        raise ValueError
    parse_paces(written := str(given.value).strip(), given.hardware or HARDWARE)
    return written


def read_duration(given: Given) -> str:
    """A duration in Ollama's form."""
    import re

    written = str(given.value).strip()
    if not re.fullmatch(r"-?\d{1,9}(ms|s|m|h)?", written):
        raise ValueError
    return written


def read_folder(given: Given) -> Path:
    """A folder that exists."""
    path = _path(given)
    if not path.is_dir():
        raise ValueError
    return path


def new_folder(given: Given) -> Path:
    """A folder that exists or can be made."""
    path = _path(given)
    if path.exists() and not path.is_dir():
        raise ValueError
    return path


def read_file_path(given: Given) -> str:
    """A file in a folder that exists."""
    path = _path(given)
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError
    return str(path)


def _path(given: Given) -> Path:
    from pathlib import Path

    if not text(given):
        raise ValueError
    path: Path = given.folder / Path(text(given)).expanduser()
    return path.absolute()


MODEL = "the name of a model, FILE.gguf, or reader"
TRUE_OR_FALSE = "true or false"
SECONDS = "a number of seconds, 1 to 86,400"


def sessions_folder() -> Path:
    """The default folder of sessions."""
    from pathlib import Path

    from platformdirs import user_state_dir

    return Path(user_state_dir("thimble"), "sessions")


def built_in(folder: str) -> Path:
    """A folder of the corpus that ships."""
    from pathlib import Path

    return Path(__file__).parents[1] / "corpus" / folder


setting: Callable[..., Any] = Setting
"""`Setting`, for rows: to a type checker, a row has the type of the setting's value."""


class SettingsTable:
    """The settings, a row each: name, type, default, and the attributes of `Setting`.

    `model` and `base_url` are "" for the backend's own choice, `summariser` for the agent's model, `memory` for the
    summariser, `notes` for none; `temperature` and `seed` are None for the server's default.
    """

    backend: str = setting(
        "auto",
        backend_name,
        "one of " + ", ".join(BACKENDS) + ", or the backend of an installed package",
        "auto, ollama, vllm, openai (any compatible server), gguf (this machine, no server) or reader (built in); "
        "default: auto",
        "NAME",
    )
    model: str = setting(
        "",
        text,
        "the name of a model, or a file, FILE.gguf",
        "a model of that server, or FILE.gguf, which needs no server; default: the most suitable",
        "NAME",
    )
    base_url: str = setting(
        "",
        text,
        "the address of a model server",
        "the address of the server; default: OLLAMA_HOST, or OPENAI_BASE_URL",
        "URL",
    )
    strategy: str = setting(
        "observation-masking",
        text,
        "a strategy SPEC such as observation-masking or sliding-window+none",
        "the strategy that manages the context: NAME, NAME:key=value,... or several joined by +",
        "SPEC",
        harmless=True,
    )
    budget: int = setting(
        4000,
        number(int, 500, 2_000_000),
        "a whole number of tokens, 500 to 2,000,000",
        "prompt tokens that one model call may use; default: 4000",
        "N",
        harmless=True,
    )
    summariser: str = setting(
        "",
        text,
        MODEL,
        "the model that writes summaries: NAME on that server, NAME@URL on another, FILE.gguf, or reader; "
        "default: the agent's, or the reader if that is small",
        "NAME",
        kept=True,
    )
    memory: str = setting(
        "",
        text,
        MODEL,
        "the background model of the strategy comem: NAME, NAME@URL, FILE.gguf or reader; default: the summariser",
        "NAME",
        kept=True,
    )
    embeddings: str = setting(
        AUTO,
        embedding_model,
        f"{', '.join(EMBEDDINGS)}, or a model of a server: ollama:NAME, openai:NAME, vllm:NAME, or openai:NAME@URL",
        "the embeddings for search by meaning: static, none, ollama:NAME, openai:NAME or vllm:NAME; default: auto",
        "HOW",
        kept=True,
    )
    price: str = setting(
        AUTO,
        price_card,
        "auto, or a card such as cached=0.1,output=4,dollars=3: cached 0 to 1, output 0 to 1000, dollars 0 to 1000",
        "prices of tokens, if an uncached one costs 1: cached=0.1,output=4; dollars=3: for a million; default: auto",
        "CARD",
        kept=True,
    )
    corpus: Path = setting(
        lambda: built_in("articles"),
        read_folder,
        "a folder that exists",
        "the folder of articles; default: the built-in ones",
        "DIR",
        kept=True,
    )
    files: Path = setting(
        lambda: built_in("files"),
        read_folder,
        "a folder that exists",
        "the folder that the file tools may read; default: the built-in one",
        "DIR",
        kept=True,
    )
    notes: str = setting(
        "",
        read_file_path,
        "a file in a folder that exists; it is created if missing",
        "also keep the model's notes in this file, for later sessions",
        "FILE",
    )
    session_dir: Path = setting(
        sessions_folder,
        new_folder,
        "a folder, which is created if missing",
        "the folder of saved sessions; default: the user's state folder",
        "DIR",
    )
    plain: bool = setting(
        False, read_switch, TRUE_OR_FALSE, "append-only plain lines, for screen readers", harmless=True
    )
    stage: bool = setting(
        False,
        read_switch,
        TRUE_OR_FALSE,
        "for a projector: high contrast, Enter steps, nothing private on screen",
        harmless=True,
    )
    color: bool = setting(True, read_switch, TRUE_OR_FALSE, harmless=True)
    pace: str = setting(
        "0",
        read_pace,
        "a number of tokens a second, 0 to 10,000; 0 is at once; or a machine, or two with a comma",
        "speed of a recording: original, 2x, 0 (at once) or key (step by step); of the reader: tokens a second; of "
        "either: a machine such as a100-32b, or two, the second for the strategy's calls: a100-32b,a100-4b",
        "HOW",
        harmless=True,
    )
    max_turns: int = setting(12, number(int, 1, 250), "a whole number, 1 to 250", harmless=True, kept=True)
    think: Think = setting(
        "on",
        one_of(*THINK),
        "one of " + ", ".join(THINK),
        "on, off, low, medium or high, for models that can think; default: on",
        "HOW",
        harmless=True,
        kept=True,
    )
    calls: Calls | Literal["auto"] = setting(
        AUTO,
        one_of(*CALLS),
        "one of " + ", ".join(CALLS),
        "how the model calls tools: tools (the server's way) or schema (JSON that the server enforces, for small "
        "models); default: auto",
        "HOW",
        harmless=True,
        kept=True,
    )
    temperature: float | None = setting(
        0.0,
        unless_auto(number(float, 0, 2)),
        "a number, 0 to 2; auto sends none",
        "sampling temperature, 0 to 2, or auto, the server's own; default: 0, so that a demo repeats",
        "T",
        harmless=True,
        kept=True,
    )
    seed: int | None = setting(
        None,
        unless_auto(number(int, 0, MAX_SEED)),
        f"a whole number, 0 to {MAX_SEED:,}; auto sends none",
        "the server's random seed; default: auto, none is sent",
        "N",
        harmless=True,
        kept=True,
    )
    stream: bool = setting(
        True, read_switch, TRUE_OR_FALSE, "take each reply whole", flag="--no-stream", harmless=True, kept=True
    )
    timeout: float = setting(
        300.0,
        number(float, 1, 86_400),
        SECONDS,
        "longest wait for the next piece of a reply; default: 300",
        "SECONDS",
        harmless=True,
    )
    reply_timeout: float = setting(
        1800.0,
        number(float, 1, 86_400),
        SECONDS,
        "longest wait for the whole of a reply; default: 1800",
        "SECONDS",
        harmless=True,
    )
    keep_alive: str = setting(
        "10m",
        read_duration,
        "a time such as 10m, 1h or seconds; -1 is for ever, 0 not at all",
        harmless=True,
        kept=True,
    )


SETTINGS: dict[str, Setting] = {name: row for name, row in vars(SettingsTable).items() if isinstance(row, Setting)}
