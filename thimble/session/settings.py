"""Settings and their sources: flag > resumed session > environment > ./thimble.toml > user config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError, did_you_mean
from thimble.corpus.reading import read_text
from thimble.models.hardware import HARDWARE, Hardware
from thimble.models.pace import Pace, parse_paces, read_hardware
from thimble.models.wire.address import hide_login, hide_logins
from thimble.session.settings_table import ADDRESS_OF, AUTO, BACKENDS, SETTINGS, Given, SettingsTable

ADDRESSES = tuple(dict.fromkeys(ADDRESS_OF.values()))
SETTINGS_FILE_BYTES = 1_000_000
READ_ERRORS = (ValueError, OverflowError, OSError, RuntimeError)
"""The errors of reading a value; RuntimeError for an unknown ~user."""
MEMORY_FILE = "THIMBLE.md"
"""The name of the memory file (`session.memory_file`)."""
FOLDER_FILE = "./thimble.toml"
"""The origin of a setting from the current folder's file."""
HOW_TO_SET = "set it with a flag, in the environment or in your own config.toml"
"""How to fix a setting that the folder's file may not set."""
HARDWARE_ROWS = "hardware"
"""The key of the hardware rows in a file (`models.hardware`). None of their values can do harm."""
SESSION = "session"
"""The origin of a setting from a resumed session."""


class Settings(SettingsTable):
    """The settings that a session starts with: a value for each row of the table, never changed.

    Attributes:
        origins: The source of each.
        asked: The settings without those of a resumed session.
        left_out: The settings that the folder's file names but may not set.
        memory_file: The user's memory file (`session.memory_file`); None if none is read.
        hardware: The described machines by name, including those of the files.
    """

    origins: Mapping[str, str]
    asked: Settings | None
    left_out: tuple[str, ...]
    memory_file: Path | None
    hardware: Mapping[str, Hardware]

    def __init__(self, **values: Any) -> None:
        rows = {name: values.get(name, row.default) for name, row in SETTINGS.items()}
        beside = {"origins": {}, "asked": None, "left_out": (), "memory_file": None, "hardware": HARDWARE}
        if unknown := {*values} - {*rows, *beside}:
            raise TypeError(f"there is no setting {', '.join(unknown)}")
        vars(self).update(rows | beside | values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are never changed: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and all(getattr(self, name) == getattr(other, name) for name in SETTINGS)

    def replace(self, **values: Any) -> Settings:
        """A copy with these values."""
        return Settings(**vars(self) | values)

    @property
    def paces(self) -> tuple[Pace, Pace]:
        """The paces of the reader: as the agent's model, and as the memory model."""
        return parse_paces(self.pace, self.hardware)

    @property
    def flags(self) -> set[str]:
        """The settings that the command line gives."""
        return {name for name, origin in self.origins.items() if origin.startswith("flag")}

    @property
    def notices(self) -> list[str]:
        """Notices for the start: a line if settings were left out."""
        names = ", ".join(self.left_out)
        return (
            [f"Left out of {FOLDER_FILE}, as it could do harm: {names}. If you want it, {HOW_TO_SET}."] if names else []
        )


def resolve_settings(
    flags: Mapping[str, object], environ: Mapping[str, str] | None = None, folder: Path = Path()
) -> Settings:
    """The settings, each from the strongest source that gives it.

    Only harmless settings of the folder's file count; the others are `left_out`, whatever their values.

    Args:
        flags: values from the command line, by setting name; other names are ignored.
        environ: the environment; the process's own by default. Empty values count as not set.
        folder: the folder of `thimble.toml`.

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
            hardware |= read_hardware(given_rows.value, given_rows.origin)
    harmful = [name for name, given in files[0].items() if not _is_harmless(name, given.value)]
    for name in harmful:
        del files[0][name]
    sources = (_from_flags(flags, folder), surroundings, *files)
    values: dict[str, Any] = {}
    origins = dict.fromkeys(SETTINGS, "default")
    for name in SETTINGS:
        if name == "base_url":
            variable = ADDRESS_OF.get(values.get("backend", AUTO), ADDRESSES[0])
            if environ.get(variable):
                surroundings.setdefault(name, Given(environ[variable], f"environment {variable}", folder))
        given = next((source[name] for source in sources if name in source), None)
        if given is not None:
            values[name], origins[name] = _read(name, given._replace(hardware=hardware)), given.origin
    left_out = tuple(name for name in harmful if name not in {*sources[0], *surroundings})
    memory_file = _user_folder() / MEMORY_FILE
    return Settings(**values, origins=origins, left_out=left_out, memory_file=memory_file, hardware=hardware)


def refuse_code(spec: str, what: str, how: str) -> None:
    """Raise UsageError for a strategy that is code, which only the user may choose to run."""
    from thimble.strategies.spec import is_code  # not at the start: it imports all strategies

    if is_code(spec):
        raise UsageError(f"{what} under {spec[:60]}, which is code", f"if it is yours, {how} with the same SPEC")


def resume_settings(settings: Settings, own: Mapping[str, object]) -> Settings:
    """The settings of a resumed session: its `own` settings replace the given ones, except flags.

    A session never sets the address of a server: only the user does, as for a strategy that is code.

    Raises:
        UsageError: one of its own is no longer valid, such as a folder that is gone, or is code.
    """
    asked = settings.asked or settings
    own = {name: value for name, value in own.items() if name != "base_url" and not names_server(name, value)}
    if "strategy" in own and "strategy" not in asked.flags and own["strategy"] != asked.strategy:
        refuse_code(str(own["strategy"]), "the session continues", "run thimble --resume ID --strategy")
    taken = {name: own[name] for name in SETTINGS if name in own and name not in asked.flags}
    values = {name: _read(name, Given(value, SESSION, Path())) for name, value in taken.items()}
    return asked.replace(**values, origins={**asked.origins, **dict.fromkeys(taken, SESSION)}, asked=asked)


def _is_harmless(name: str, value: object) -> bool:
    """Whether a folder's file may set this value."""
    from thimble.strategies.spec import is_code

    return SETTINGS[name].harmless and not (name == "strategy" and is_code(str(value)))


def names_server(name: str, value: object) -> bool:
    """Whether this value of a setting names the address of a server."""
    return name in ("summariser", "memory", "embeddings") and "@" in str(value)


def sends_key(kind: str, settings: Settings) -> bool:
    """Whether a server of this kind gets the user's key: the user named its address, or it as the backend."""
    return bool(address_of(kind, settings)) or (settings.asked or settings).backend == kind


def address_of(backend: str, settings: Settings) -> str:
    """The address of a backend's server: the one set for all, else that of its own variable; "" for neither."""
    origin = settings.origins.get("base_url", "flag")
    if origin in ("default", *(f"environment {variable}" for variable in ADDRESSES)):
        if backend not in BACKENDS:  # from an installed package: it has no variable of its own
            return ""
        return os.environ.get(ADDRESS_OF.get(backend, ADDRESSES[0]), "")
    return settings.base_url


def _read(name: str, given: Given) -> Any:
    setting = SETTINGS[name]
    try:
        return setting.read(given)
    except READ_ERRORS as error:
        known = BACKENDS if name == "backend" else ()
        other = f"choose another with --{name.replace('_', '-')}; " if given.origin == SESSION else ""
        what = f"{name} cannot be {display_value(name, repr(given.value))[:80]} ({given.origin})"
        rows = f", of {', '.join(given.hardware or HARDWARE)}" if name == "pace" else ""
        rest = f"{other}it takes {setting.legal}{rows}"
        raise UsageError(what, did_you_mean(str(given.value), known, rest)) from error


def display_value(name: str, value: object) -> str:
    """The value of a setting for display, without the name and password in an address."""
    return hide_login(str(value)) if name == "base_url" else hide_logins(str(value))


def _from_flags(flags: Mapping[str, object], folder: Path) -> dict[str, Given]:
    return {name: Given(flags[name], f"flag {row.flag}", folder) for name, row in SETTINGS.items() if name in flags}


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
        text = read_text(path, SETTINGS_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{called} cannot be read: {error.strerror}", "fix it or remove it") from error
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
            raise unknown_setting_error(name, f"{called} has an unknown key {key!r}")
        found[name] = Given(value, called, path.parent)
    return found


def unknown_setting_error(name: str, what: str) -> UsageError:
    """The error for an unknown setting, with the nearest known one."""
    from thimble.strategies.table import STRATEGIES

    if name in STRATEGIES:
        return UsageError(what, f'{name} is a strategy: write it in the SPEC, strategy = "{name}+observation-masking"')
    return UsageError(what, did_you_mean(name, SETTINGS) or f"known: {', '.join(SETTINGS)}")


def settings_files(folder: Path = Path()) -> dict[str, Path]:
    """The settings files, the stronger first, by the name of each as an origin."""
    user = _user_folder() / "config.toml"
    return {FOLDER_FILE: folder / "thimble.toml", str(user): user}


def _user_folder() -> Path:
    from platformdirs import user_config_dir

    return Path(user_config_dir("thimble"))
