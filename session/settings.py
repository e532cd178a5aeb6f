"""Settings, and where each comes from: flag > resumed session > environment > ./thimble.toml > user config."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.budget import LEAST_BUDGET, MOST_BUDGET
from agent.errors import UsageError
from corpus.reading import read_text
from models.hardware import HARDWARE, Hardware
from models.wire.address import hidden, masked
from models.wire.bounds import REPLY_SECONDS
from session.hardware import MOST_RATE, Pace, own_rows, paces
from session.prices import read_prices

if TYPE_CHECKING:
    from models.server import Calls, Think

CORPUS = Path(__file__).parent.parent / "corpus"
BACKENDS = ("auto", "ollama", "vllm", "openai", "gguf", "reader")
ADDRESS_OF = {"ollama": "OLLAMA_HOST", "vllm": "OPENAI_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""Where the address of a backend's server stands in the environment, if not in OLLAMA_HOST."""
ADDRESSES = tuple(dict.fromkeys(ADDRESS_OF.values()))
THINK = ("on", "off", "low", "medium", "high")
CALLS = ("auto", "tools", "schema", "text")
AUTO = "auto"
STATIC, NONE = "static", "none"
EMBEDDINGS = (AUTO, STATIC, NONE)
"""Embeddings without a server; `auto` is `static` where its files are installed, else `none`."""
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
MOST_SEED = 2**31 - 1
FILE_LIMIT_BYTES = 1_000_000
REFUSED = (ValueError, OverflowError, OSError, RuntimeError)
"""What reading a value may raise; RuntimeError for a ~user that nobody is."""
MEMORY_FILE = "THIMBLE.md"
"""The name of the memory file (`session.memory_file`)."""
FOLDERS = "./thimble.toml"
"""The origin of a setting that the folder's file brings along."""
HOW_TO_SET = "say it with a flag, in the environment or in your own config.toml"
"""How to mend that a folder's file may not set it."""
HARDWARE_ROWS = "hardware"
"""The key of a file under which its rows of hardware stand (`session.hardware`). No value of them does harm."""
SESSION = "session"
"""The origin of a setting that a resumed session brings along."""


def sessions_folder() -> Path:
    """Where sessions are kept unless another place is named."""
    from platformdirs import user_state_dir

    return Path(user_state_dir("thimble"), "sessions")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session starts with.

    `backend` is one of BACKENDS; `model` and `base_url` are "" for the backend's own choice; `strategy` is a SPEC;
    `budget` counts prompt tokens of one call; `summariser` is the model that strategies ask, "" for the agent's
    own; `memory` is the one that they ask in the background, "" for the summariser; `embeddings` is one of
    EMBEDDINGS, or a model of a server (`served_embeddings`); `price` is "auto" or a price card
    (`session.prices.read_prices`); `tidy` says that each result is written as small as can be
    (`strategies.tidy.Tidied`); `notes` is the path of a file that keeps what the model notes, "" for none;
    `session_dir` need not be there yet; `pace` is the one of the built-in reader, as `session.hardware.paces` reads
    it (`paces`: as it is read); `stage` is for a projector (docs/tutorial/3-teach-it.md); `color` is off where
    NO_COLOR is set; `think`, `calls`, `temperature` and `seed` (None: what the server takes by itself), `stream`,
    `timeout` and `reply_timeout` (seconds) and `keep_alive` are `models.server.ServerOptions`. `origins` names where
    each of them came from; `asked` are the settings without those of a resumed session; `left_out` are those that the
    folder's file names and may not set; `memory_file` is the user's (`session.memory_file`), None where none is read;
    `hardware` are the described machines by name, those of the files among them.
    """

    backend: str = "auto"
    model: str = ""
    base_url: str = ""
    strategy: str = "observation-masking"
    budget: int = 8000
    summariser: str = ""
    memory: str = ""
    embeddings: str = AUTO
    price: str = AUTO
    tidy: bool = True
    corpus: Path = CORPUS / "articles"
    files: Path = CORPUS / "files"
    notes: str = ""
    session_dir: Path = field(default_factory=sessions_folder)
    plain: bool = False
    stage: bool = False
    color: bool = True
    pace: str = "0"
    max_turns: int = 12
    think: Think = "on"
    calls: Calls | Literal["auto"] = "auto"
    temperature: float | None = None
    seed: int | None = None
    stream: bool = True
    timeout: float = 300.0
    reply_timeout: float = REPLY_SECONDS
    keep_alive: str = "10m"
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    asked: Settings | None = field(default=None, compare=False, repr=False)
    left_out: tuple[str, ...] = field(default=(), compare=False)
    memory_file: Path | None = field(default=None, compare=False)
    hardware: Mapping[str, Hardware] = field(default_factory=lambda: HARDWARE, compare=False, repr=False)

    @property
    def paces(self) -> tuple[Pace, Pace]:
        """The paces of the reader as the agent's model, and as the memory model beside it."""
        return paces(self.pace, self.hardware)

    @property
    def flags(self) -> set[str]:
        """The settings that the command line gives."""
        return {name for name, origin in self.origins.items() if origin.startswith("flag")}

    @property
    def notices(self) -> list[str]:
        """What the user is told at the start: a line where something is left out."""
        names = ", ".join(self.left_out)
        return [f"Left out of {FOLDERS}, as it could do harm: {names}. If you want it, {HOW_TO_SET}."] if names else []


@dataclass(frozen=True, slots=True)
class Given:
    """A value as a source gives it, the name of that source, and the folder that its paths are relative to."""

    value: object
    origin: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting is read. `read` raises ValueError for a value that is not `legal`.

    `is_harmless` says which values a folder's file may set, as somebody else may have written it: at worst an answer is
    poor, slow or dear. No such value runs code, chooses a server, a model, a folder or a file, or sets prices.
    """

    read: Callable[[Given], Any]
    legal: str
    is_harmless: Callable[[object], bool] = lambda value: False


def _any(value: object) -> bool:
    return True


def _runs_nothing(value: object) -> bool:
    from strategies.spec import is_code  # not at the start: it imports all strategies

    return not is_code(str(value))


def _text(given: Given) -> str:
    if not isinstance(given.value, str):
        raise ValueError
    return given.value.strip()


def _one_of(*words: str) -> Callable[[Given], str]:
    def read(given: Given) -> str:
        if given.value not in words:
            raise ValueError
        return str(given.value)

    return read


@dataclass(frozen=True, slots=True)
class ServedEmbeddings:
    """A model of embeddings: its kind of server, its name there, and the server's address, "" for the usual one."""

    kind: str
    model: str
    url: str = ""


def served_embeddings(text: str) -> ServedEmbeddings | None:
    """The model in KIND:NAME or KIND:NAME@URL; None if the text is neither."""
    kind, _, rest = text.partition(":")
    model, at, url = rest.rpartition("@") if "@" in rest else (rest, "", "")
    return ServedEmbeddings(kind, model, url) if kind in ADDRESS_OF and model and (url or not at) else None


def _embeddings(given: Given) -> str:
    text = _text(given)
    if text not in EMBEDDINGS and not served_embeddings(text):
        raise ValueError
    return text


def _price(given: Given) -> str:
    card = _text(given)
    if card != AUTO:
        try:
            read_prices(card)
        except UsageError as error:
            raise ValueError from error
    return card


def _number(kind: type[int] | type[float], least: int, most: int) -> Callable[[Given], float]:
    def read(given: Given) -> float:
        if isinstance(given.value, bool) or not isinstance(given.value, (kind, int, str)):
            raise ValueError
        number = kind(given.value)
        if not least <= number <= most:
            raise ValueError
        return number

    return read


def _unless_auto(read: Callable[[Given], float]) -> Callable[[Given], float | None]:
    return lambda given: None if given.value == AUTO else read(given)


def _pace(rows: Mapping[str, Hardware]) -> Setting:
    def read(given: Given) -> str:
        if isinstance(given.value, bool) or not isinstance(given.value, int | float | str):
            raise ValueError
        paces(text := str(given.value).strip(), rows)
        return text

    number = f"a number of tokens per second, 0 to {MOST_RATE:,}; 0 is at once"
    return Setting(read, f"{number}; or a machine, or two with a comma, of {', '.join(rows)}", _any)


def _keep_alive(given: Given) -> str:
    text = str(given.value).strip()
    if not re.fullmatch(r"-?\d{1,9}(ms|s|m|h)?", text):
        raise ValueError
    return text


def _switch(given: Given) -> bool:
    word = str(given.value).lower()
    if word not in YES + NO:
        raise ValueError
    return word in YES


def _folder(given: Given, made: bool = False) -> Path:
    path = given.folder / Path(_text(given)).expanduser()
    if not _text(given) or not (path.is_dir() or (made and not path.exists())):
        raise ValueError
    return path.absolute()


def _file(given: Given) -> str:
    path = given.folder / Path(_text(given)).expanduser()
    if not _text(given) or path.is_dir() or not path.parent.is_dir():
        raise ValueError
    return str(path.absolute())


SETTINGS: dict[str, Setting] = {
    "backend": Setting(_one_of(*BACKENDS), "one of " + ", ".join(BACKENDS)),
    "model": Setting(_text, "the name of a model, or a file, FILE.gguf"),
    "base_url": Setting(_text, "the address of a model server"),
    "strategy": Setting(_text, "a strategy SPEC such as observation-masking or sliding-window+none", _runs_nothing),
    "budget": Setting(
        _number(int, LEAST_BUDGET, MOST_BUDGET), f"a whole number of tokens, {LEAST_BUDGET} to {MOST_BUDGET:,}", _any
    ),
    "summariser": Setting(_text, "the name of a model, FILE.gguf, or reader"),
    "memory": Setting(_text, "the name of a model, FILE.gguf, or reader"),
    "embeddings": Setting(
        _embeddings,
        f"{', '.join(EMBEDDINGS)}, or a model of a server: ollama:NAME, openai:NAME, vllm:NAME, or openai:NAME@URL",
    ),
    "price": Setting(
        _price,
        "auto, or a card such as cached=0.1,output=4,dollars=3: cached 0 to 1, output 0 to 1000, dollars 0 to 1000",
    ),
    "tidy": Setting(_switch, "on or off", _any),
    "corpus": Setting(_folder, "a folder that exists"),
    "files": Setting(_folder, "a folder that exists"),
    "notes": Setting(_file, "a file in a folder that exists; it is made where it is missing"),
    "session_dir": Setting(partial(_folder, made=True), "a folder, which is made where it is missing"),
    "plain": Setting(_switch, "true or false", _any),
    "stage": Setting(_switch, "true or false", _any),
    "color": Setting(_switch, "true or false", _any),
    "pace": _pace(HARDWARE),
    "max_turns": Setting(_number(int, 1, 250), "a whole number, 1 to 250", _any),
    "think": Setting(_one_of(*THINK), "one of " + ", ".join(THINK), _any),
    "calls": Setting(_one_of(*CALLS), "one of " + ", ".join(CALLS), _any),
    "temperature": Setting(_unless_auto(_number(float, 0, 2)), "a number, 0 to 2; auto sends none", _any),
    "seed": Setting(
        _unless_auto(_number(int, 0, MOST_SEED)), f"a whole number, 0 to {MOST_SEED:,}; auto sends none", _any
    ),
    "stream": Setting(_switch, "true or false", _any),
    "timeout": Setting(_number(float, 1, 86_400), "a number of seconds, 1 to 86,400", _any),
    "reply_timeout": Setting(_number(float, 1, 86_400), "a number of seconds, 1 to 86,400", _any),
    "keep_alive": Setting(_keep_alive, "a time such as 10m, 1h or seconds; -1 is for ever, 0 not at all", _any),
}


def resolve(flags: Mapping[str, object], environ: Mapping[str, str] | None = None, folder: Path = Path()) -> Settings:
    """The settings, each from the strongest source that gives it.

    Of the folder's file counts only what is harmless; the rest is `left_out`, whatever its value.

    Args:
        flags: what was given on the command line, by setting name; other names are ignored.
        environ: the environment; the process's own by default. Empty values count as not set.
        folder: where `thimble.toml` is looked for.

    Raises:
        UsageError: an unknown key, an illegal value or a file that cannot be read; it names the source.
    """
    environ = os.environ if environ is None else environ
    surroundings = _from_environment(environ, folder)
    files = [_from_file(path, called) for called, path in settings_files(folder).items()]
    hardware = {**HARDWARE}
    for found in reversed(files):
        if HARDWARE_ROWS in found:
            given_rows = found.pop(HARDWARE_ROWS)
            hardware |= own_rows(given_rows.value, given_rows.origin)
    harmful = [name for name, given in files[0].items() if not SETTINGS[name].is_harmless(given.value)]
    for name in harmful:
        del files[0][name]
    sources = (_from_flags(flags, folder), surroundings, *files)
    values: dict[str, Any] = {}
    origins = dict.fromkeys(SETTINGS, "default")
    for name, setting in {**SETTINGS, "pace": _pace(hardware)}.items():
        if name == "base_url":
            variable = ADDRESS_OF.get(values.get("backend", AUTO), ADDRESSES[0])
            if environ.get(variable):
                surroundings.setdefault(name, Given(environ[variable], f"environment {variable}", folder))
        given = next((source[name] for source in sources if name in source), None)
        if given is not None:
            values[name], origins[name] = _read(name, setting, given), given.origin
    left_out = tuple(name for name in harmful if name not in {*sources[0], *surroundings})
    memory_file = _user_folder() / MEMORY_FILE
    return Settings(**values, origins=origins, left_out=left_out, memory_file=memory_file, hardware=hardware)


def going_on(settings: Settings, own: Mapping[str, object]) -> Settings:
    """The settings with which a session goes on that has some of its own. Only flags are stronger than these.

    Raises:
        UsageError: one of its own is not possible any more, such as a folder that is gone.
    """
    asked = settings.asked or settings
    taken = {name: own[name] for name in SETTINGS if name in own and name not in asked.flags}
    values = {name: _read(name, SETTINGS[name], Given(value, SESSION, Path())) for name, value in taken.items()}
    return replace(asked, **values, origins={**asked.origins, **dict.fromkeys(taken, SESSION)}, asked=asked)


def address_of(backend: str, settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Where the server of a backend is: where all are said to be, else where its own variable says; "" for neither."""
    origin = settings.origins.get("base_url", "flag")
    if origin in ("default", *(f"environment {variable}" for variable in ADDRESSES)):
        return (os.environ if environ is None else environ).get(ADDRESS_OF.get(backend, ADDRESSES[0]), "")
    return settings.base_url


def _read(name: str, setting: Setting, given: Given) -> Any:
    try:
        return setting.read(given)
    except REFUSED as error:
        near = get_close_matches(str(given.value), BACKENDS, 1) if name == "backend" else ()
        hint = f"did you mean {near[0]}? " if near else ""
        if setting.read is _folder and os.sep == "/" and "\\" in str(given.value):
            hint = "write the path with /, and a drive as it is mounted here, such as /mnt/c; "
        hint += f"take another with --{name.replace('_', '-')}; " if given.origin == SESSION else ""
        what = f"{name} cannot be {shown(name, repr(given.value))[:80]} ({given.origin})"
        raise UsageError(what, f"{hint}it takes {setting.legal}") from error


def shown(name: str, value: object) -> str:
    """The value of a setting for display: without the name and password in an address."""
    return hidden(str(value)) if name == "base_url" else masked(str(value))


def _from_flags(flags: Mapping[str, object], folder: Path) -> dict[str, Given]:
    return {name: Given(flags[name], f"flag --{name.replace('_', '-')}", folder) for name in SETTINGS if name in flags}


def _from_environment(environ: Mapping[str, str], folder: Path) -> dict[str, Given]:
    found = {}
    for name in SETTINGS:
        variable = f"THIMBLE_{name.upper()}"
        if environ.get(variable):
            found[name] = Given(environ[variable], f"environment {variable}", folder)
    if environ.get("NO_COLOR"):
        found["color"] = Given("false", "environment NO_COLOR", folder)
    return found


def _from_file(path: Path, called: str) -> dict[str, Given]:
    try:
        text = read_text(Path(os.path.realpath(path)), FILE_LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{called} cannot be read: {error.strerror}", "mend it or remove it") from error
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{called} is not valid TOML: {error}", 'write lines such as budget = 4000 or model = "name"'
        ) from error
    found: dict[str, Given] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in SETTINGS and name != HARDWARE_ROWS:
            raise unknown(name, f"{called} has an unknown key {key!r}")
        found[name] = Given(value, called, path.parent)
    return found


def unknown(name: str, what: str) -> UsageError:
    """What to raise for a setting that there is not, with the nearest that there is."""
    near = get_close_matches(name, SETTINGS, 1)
    return UsageError(what, f"did you mean {near[0]}?" if near else f"known: {', '.join(SETTINGS)}")


def settings_files(folder: Path = Path()) -> dict[str, Path]:
    """The files of settings, the stronger first, by what they are called where a setting comes from them."""
    user = _user_folder() / "config.toml"
    return {FOLDERS: folder / "thimble.toml", str(user): user}


def _user_folder() -> Path:
    from platformdirs import user_config_dir

    return Path(user_config_dir("thimble"))
