"""The network below every HTTP client: each read and write keeps to the bounds of the answer that it is for.

So whatever comes is bounded: headers that drip, `100 Continue` without end, blank lines, comments, bodies.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from agent import background
from models.wire.bounds import Allowance

WRITTEN_BYTES = 65_536
"""Bytes written at once: a server that reads slowly gets its time for each."""


def bound(client: httpx.Client, allowance: Allowance) -> None:
    """Let all connections of a client keep to this allowance. tests/models/wire/test_bounds.py pins what is private."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = _Network(allowance)


class _Network(httpcore.SyncBackend):
    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        seconds = min(timeout or self._allowance.seconds(), self._allowance.seconds())
        return _Stream(super().connect_tcp(host, port, seconds, local_address, socket_options), self._allowance)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, allowance: Allowance) -> None:
        self._inner, self._allowance = inner, allowance

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = None
        while data is None:
            data = self._read(max_bytes, self._allowance.seconds())
        self._allowance.take(len(data))
        return data

    def _read(self, max_bytes: int, seconds: float) -> bytes | None:
        """What has come; None for a call in the background that looked up whether it was stopped."""
        shorter = min(seconds, background.SLICE_SECONDS) if background.is_here() else seconds
        try:
            return self._inner.read(max_bytes, shorter)
        except httpcore.TimeoutException as error:
            background.check()
            if shorter < seconds:
                return None
            raise self._allowance.late() from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            for at in range(0, len(buffer), WRITTEN_BYTES):
                self._inner.write(buffer[at : at + WRITTEN_BYTES], self._allowance.seconds())
        except httpcore.TimeoutException as error:
            raise self._allowance.late() from error

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = min(timeout or self._allowance.seconds(), self._allowance.seconds())
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._allowance)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
