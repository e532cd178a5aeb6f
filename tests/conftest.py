"""Every test runs without a network, and Hypothesis runs as HYPOTHESIS_PROFILE says: quick (default) or nightly.

What is marked `nightly` only `make nightly` runs. There, every law is tried on at least 20,000 examples. A law that is
parametrised, by strategies say, shares its examples out among those that were selected, so `-k thrifty` tries each law
20,000 times on that strategy alone.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

pytest.register_assert_rewrite("thimble.strategies.laws")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.register_profile("nightly", max_examples=20_000, deadline=None, print_blob=True, suppress_health_check=SLOW)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
QUICK_EXAMPLES = 200
"""Of a parametrised law in the quick profile, all parameters together."""
ASKED = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a law."""
settings.load_profile(PROFILE)
if PROFILE == "quick":
    # Hypothesis also draws constants out of the modules that are imported by then: others in each worker, in each run.
    providers._get_local_constants = lambda: providers._local_constants


def pytest_configure() -> None:
    """What Python compiles is kept, whatever PYTHONDONTWRITEBYTECODE says: tests start a hundred programs.

    Ctrl-C is heard also where a shell started the tests in the background, with signals ignored.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    share_out(getattr(item, "function", None) for item in session.items)


def share_out(functions: Iterable[Any]) -> None:
    """Share out each law's examples among the parameters that were selected: a function for each of them."""
    for law, times in Counter(filter(is_hypothesis_test, functions)).items():
        asked = getattr(law, ASKED)
        setattr(law, ASKED, settings(asked, max_examples=examples(PROFILE, asked.max_examples, times)))


def examples(profile: str, asked: int, times: int) -> int:
    """How many a law that asks for so many is given for each of its parameters, which are so many."""
    if profile == "nightly":
        return ceil(settings.get_profile("nightly").max_examples / times)
    return min(asked, ceil(QUICK_EXAMPLES / times)) if times > 1 else asked


@pytest.fixture(scope="session")
def forked(_state: None) -> Path:
    """A program that is thimble, started often for little: it forks from one that has imported and read all."""
    from tests.support.forked_thimble import forked_thimble

    return forked_thimble()


class NetworkUsedError(RuntimeError):
    """A test tried to leave this machine. Not an OSError, so that no code takes it for a server that is down."""


def is_local(host: object) -> bool:
    """Whether a host is this machine's loopback."""
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).split("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test keeps, and the programs that it starts, is none of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("THIMBLE_CALLS", "tools")  # no trial, but where a test is about one
        patch.setenv("OLLAMA_MODELS", str(tmp_path_factory.mktemp("pulled")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    def on_address(original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
                raise NetworkUsedError(f"a test connects to {address}")
            return original(self, address)

        return guarded

    def resolve(host: Any, *rest: Any, **named: Any) -> Any:
        if not is_local(host.decode() if isinstance(host, bytes) else host):
            raise NetworkUsedError(f"a test looks up {host}")
        return look_up(host, *rest, **named)

    look_up = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", on_address(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", on_address(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", resolve)
        yield
