"""The server process: uvicorn, with limits on connections and on how slowly headers may arrive."""

import asyncio
import signal
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from vicinal.service.limits import Limits

HEAD_BYTES = 2**16
"""Most bytes of request line and headers."""
SHUTDOWN_SECONDS = 30
"""How long requests may take to finish when the service is told to stop."""


class HeadLimits(asyncio.Protocol):
    """Closes connections whose headers arrive too slowly or are too large.

    uvicorn limits neither before a request has begun. Mixed into its protocol class, whose `cycle`
    is the request being answered.
    """

    cycle: Any
    transport: Any
    seconds: float

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first headers."""
        self._head_bytes = 0
        self._clock: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Take data, unless it is still headers and too much of it."""
        if self._is_between_requests():
            self._head_bytes += len(data)
            self._start_clock()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or not self._is_between_requests():  # headers are complete
            self._head_bytes = 0
            self._stop_clock()
        elif self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _is_between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = asyncio.get_running_loop().call_later(self.seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        """Close the connection if the headers are still not complete."""
        self._clock = None
        if self._is_between_requests() and not self.transport.is_closing():
            self.transport.close()


def run_server(app: FastAPI, host: str, port: int, limits: Limits) -> None:
    """Serve until SIGINT or SIGTERM; then finish requests, write snapshots and close."""
    protocol = type(
        "LimitedProtocol", (HeadLimits, AutoHTTPProtocol), {"seconds": limits.header_seconds}
    )
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.header_seconds),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    # uvicorn raises the signal that stopped it again when everything is closed; it is ignored, so
    # that the process ends with code 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run()
