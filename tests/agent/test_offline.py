"""The switch in conftest: no test can leave this machine, and a server on loopback still can be reached."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("how", ["connect", "connect_ex"])
@pytest.mark.parametrize("host", ["192.0.2.1", "example.org"])
def test_no_connection_leaves_this_machine(how: str, host: str) -> None:
    with socket.socket() as client, pytest.raises(RuntimeError, match="a test connects to"):
        getattr(client, how)((host, 80))


def test_no_name_is_looked_up() -> None:
    with pytest.raises(RuntimeError, match="a test looks up"):
        socket.create_connection(("example.org", 80), timeout=1)


def test_loopback_is_reached() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(("localhost", server.getsockname()[1]), timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()
