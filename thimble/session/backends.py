"""The models that a session may have: the reader, those of a server or of this machine, or those of a recording."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Literal

from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.protocols import Backend, ModelId
from thimble.models import READER, backend_on, call_room, find_server, make_reader, server_at
from thimble.models.gguf import is_file
from thimble.models.pace import parse_machines
from thimble.models.server import DEFAULT_MODEL, NoModel, ServedBackend, Server, ServerOptions
from thimble.models.wire.address import hide_logins, is_loopback
from thimble.session.once import Once
from thimble.session.settings import Settings, address_of, sends_key
from thimble.session.settings_table import ADDRESS_OF, AUTO

if TYPE_CHECKING:
    from thimble.models.gguf.server import LocalModels
    from thimble.session.playback import Playback

PROBE_SECONDS = 0.3
NAMES_SECONDS = 0.5
"""Longest that Tab waits for a server to list its models."""
SideName = Literal["summariser", "memory"]
SIDE_MODELS: tuple[SideName, ...] = ("summariser", "memory")
"""The settings that name a model other than the agent's."""


class Backends:
    """Finds the models that the settings name, each when it is first needed.

    Attributes:
        notify: Takes a notice for the user, one line.
        playback: The recorded session whose models they are; None if they are live.
        widest: The largest budget so far, in tokens: servers make room for it.
        can_pull: Whether the user can pull a model; then the reader replaces a server without models.
        look_for_server: The first server to use, searched for once; None for the reader. Raises UsageError.
        reader: The built-in reader: a single one, so that its token counts survive swaps.
        local: The models that run on this machine without a server, and their processes.
    """

    def __init__(
        self,
        settings: Settings,
        notify: Callable[[str], object],
        playback: Playback | None = None,
        widest: int = 0,
    ) -> None:
        self.settings = settings
        self.notify = notify
        self.playback = playback
        self.widest = max(settings.budget, widest)
        self.can_pull = False
        self._told: set[ModelId] = set()
        self._names = [READER]
        self._asking: Thread | None = None
        self.look_for_server = Once(self._find_server)
        self.reader = Once(self._reader)
        self.local = Once(self._local)
        self._options = ServerOptions(
            settings.think,
            settings.stream,
            settings.timeout,
            settings.keep_alive,
            settings.reply_timeout,
            temperature=settings.temperature or None,  # each call asks for 0 itself, since a server may refuse it
            seed=settings.seed,
            calls=settings.calls,
        )

    def names(self) -> list[str]:
        """The models to choose from: the reader, the server's if it answers, this machine's; or the recorded ones."""
        if self.playback:
            return self.playback.models()
        found = [READER]
        with suppress(ThimbleError):
            found += self.server.models() if self.has_server() else ()
        return list(dict.fromkeys([*found, *self.local().models()]))

    def names_within_limit(self) -> list[str]:
        """The names known within `NAMES_SECONDS`; those of a slower server are included the next time."""
        if not (self._asking and self._asking.is_alive()):
            self._asking = Thread(target=self._ask_names, daemon=True)
            self._asking.start()
        self._asking.join(NAMES_SECONDS)
        return self._names

    def _ask_names(self) -> None:
        self._names = self.names()

    def has_server(self) -> bool:
        """Whether a server answers, with or without a model."""
        with suppress(ThimbleError):
            return self.server.answers(PROBE_SECONDS)
        return False

    @property
    def server(self) -> Server:
        """The server that has the models: the one in use, else one that answers now, else the default one."""
        wanted = self.settings.backend
        kind = "ollama" if wanted in (AUTO, READER) else wanted
        return self.look_for_server() or self._answering() or self.server_of(kind)

    def server_of(self, kind: str) -> Server:
        """The server of this kind, whether it answers or not.

        Raises:
            UsageError: its address is invalid.
            ModelError: a recording is playing, which has no server.
        """
        if self.playback:
            raise ModelError("a recording is playing: there is no server", "leave, and start again without --replay")
        if kind == "gguf":
            return self.local()
        options = replace(self._options, sends_key=sends_key(kind, self.settings))
        return server_at(kind, address_of(kind, self.settings), options)

    def of(self, model: str, kind: str = "") -> Backend:
        """The reader, or a model of the server in use, of this machine, or of one of this kind.

        Raises UsageError and ModelError.
        """
        if self.playback:
            return self.playback.model(READER if kind == READER else model)
        if (kind or model) == READER:
            return self.reader()
        server = self.server_of(kind) if kind else self.server
        return self._model(server, model)

    def with_widest_budget(self, backend: Backend) -> Backend:
        """The same model with room for the widest budget, if a server runs it."""
        return backend.with_room(call_room(self.widest)) if isinstance(backend, ServedBackend) else backend

    def first_backend(self) -> Backend:
        """The model to start with. Raises UsageError, and ModelError if the requested one cannot be used."""
        if self.playback:
            return self.playback.first_model()
        wanted, found = self.settings, self.look_for_server()
        if found is None:
            return self.reader() if READER in (wanted.backend, wanted.model) else self._no_server()
        try:
            return self._model(found, wanted.model)
        except ModelError as error:
            pulls = self.can_pull and isinstance(error, NoModel)
            if (pulls or wanted.backend == AUTO) and not wanted.model:
                return self._fall_back_to_reader(error.what, f"/pull {DEFAULT_MODEL}" if pulls else error.fix)
            raise

    def side_model(self, which: SideName) -> Backend | None:
        """The model that strategies ask, or that they ask in the background; None if it is not set.

        Raises UsageError and ModelError.
        """
        said = getattr(self.settings, which)
        name, at, url = said.rpartition("@")
        if at and not (name and url):
            raise UsageError(f"{side_model_name(which)} cannot be {hide_logins(said)!r}", "write NAME or NAME@URL")
        name, url = (name, url) if at else (url, "")
        if name == READER or (which == "memory" and not name and "," in self.settings.pace):
            return make_reader(self.settings.paces[1])
        if not name:
            return None
        server = find_server(url, self._options) if url else self.server
        if server is None:
            raise ModelError(
                f"{side_model_name(which)} cannot be used: no model server answers at {url}",
                "start it, or check the URL",
            )
        try:
            return backend_on(server, server.choose(name), call_room(self.widest)) if url else self._model(server, name)
        except ModelError as error:
            what = f"{side_model_name(which)} cannot be used: {error.what}"
            raise ModelError(what, f"{error.fix}; or use --{which} {READER}") from error

    def summariser(self, model: Backend) -> Backend:
        """The model that strategies ask in place of a model: the reader for a small one, unless the user names one."""
        if self.settings.summariser or not getattr(model, "small", False):
            return model
        if model.id not in self._told:
            self._told.add(model.id)
            why = f"{model.id.called} is small or calls by schema"
            own = f"for its own words --summariser {model.model}"
            self.notify(f"{why}: the built-in reader summarises, in extracts; {own}.")
        return self.reader()

    def close(self) -> None:
        """End the processes of this machine's models."""
        if self.local.is_made:
            self.local().end()

    def _model(self, server: Server, wanted: str) -> Backend:
        """A model of this server, or one that only this machine has. Raises ModelError."""
        local = self.local()
        try:
            name = server.choose(wanted)
        except ModelError:
            if server is local or not (wanted and local.has(wanted)):
                raise
            server, name = local, local.choose(wanted)
        return backend_on(server, name, call_room(self.widest))

    def _local(self) -> LocalModels:
        from thimble.models.gguf.server import LocalModels

        return LocalModels(self._options)

    def _reader(self) -> Backend:
        pace, hardware = self.settings.pace, self.settings.hardware
        if parse_machines(pace, hardware):
            self.notify(f"The reader sleeps at the pace of {pace}: its seconds are those of a described machine.")
        return make_reader(self.settings.paces[0])

    def _find_server(self) -> Server | None:
        """The server that the user names, else one that answers, else this machine if it has the model."""
        wanted = self.settings
        if READER in (wanted.backend, wanted.model):
            return None
        if wanted.backend != AUTO:
            return self.server_of(wanted.backend)
        if is_file(wanted.model):
            return self.local()
        usual = self.server_of("ollama")
        is_named = wanted.model or not is_loopback(usual.url)  # then the server itself says what is wrong with it
        found = self._answering()
        if not found and wanted.model and self.local().has(wanted.model):
            self.notify(f"No model server at {usual.url}: {wanted.model} runs on this machine, without one.")
            return self.local()
        return found or (usual if is_named else None)

    def _answering(self) -> Server | None:
        """The first server that answers at its address in the settings.

        A variable meant for other programs may name a server that costs money, so that one must be on this machine.
        """
        servers = map(self.server_of, ADDRESS_OF)
        allowed = (each for each in servers if is_loopback(each.url) or self._is_named(each.name))
        return next((each for each in allowed if each.answers(PROBE_SECONDS)), None)

    def _is_named(self, kind: str) -> bool:
        return kind == "ollama" or address_of(kind, self.settings) == self.settings.base_url != ""

    def _no_server(self) -> Backend:
        from thimble.models.gguf.this_machine import is_installed

        url, way_out = self.server_of("ollama").url, f"install Ollama, then ollama pull {DEFAULT_MODEL}"
        if is_installed() and (here := self.local().models()):
            way_out = f"{'/model' if self.can_pull else '--model'} {here[0]}"
        return self._fall_back_to_reader(f"No model server at {url}", way_out)

    def _fall_back_to_reader(self, why: str, way_out: str) -> Backend:
        self.notify(f"{why}: the built-in reader answers, with extracts only. For a model, {way_out}.")
        return self.reader()


def side_model_name(which: SideName) -> str:
    """The name of a side model in errors."""
    return "the memory model" if which == "memory" else "the summariser"
