"""The server process: uvicorn, with limits on connections and on clients that are too slow."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from vicinal._core.threads import one_blas_thread
from vicinal.errors import InvalidArgumentError
from vicinal.service.access import error_body
from vicinal.service.engine import Engine
from vicinal.service.limits import Limits, ServiceError

log = logging.getLogger("vicinal.service")
HEAD_BYTES = 2**16
"""Most bytes of request line and headers."""
MOST_PIPELINED = 16
"""Further requests that a client may send before it got the reply to its first."""
SHUTDOWN_SECONDS = 6
"""How long requests may take to finish when the service is told to stop."""
LONG_WORK_SECONDS = 3.0
"""How long neighbours, explanations and large predictions may take then."""
LAST_SECONDS = 1.0
"""How long the process waits, at its end, for threads that still compute something."""
SWITCH_SECONDS = 0.0005
"""How long a thread waits for one that computes in Python. A lesson waits up to ten times, so that
Python's 5 ms would add up while a threshold is fitted or a snapshot is written."""


class HeadLimits(asyncio.Protocol):
    """Closes connections whose headers arrive too slowly or are too large, and unread replies.

    uvicorn limits neither before a request has begun nor after its reply is written. Mixed into its
    protocol class, whose `cycle` is the request being answered, and whose `app` answers the next.
    """

    app: Any
    config: Any
    connections: set[Any]
    cycle: Any
    transport: Any
    limits: Limits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first headers."""
        self._head_bytes = 0
        self._clock: asyncio.TimerHandle | None = None
        self._send_clock: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        # Without room in the transport's buffer, each reply that is not read pauses writing.
        self.transport.set_write_buffer_limits(high=0)
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Take data, unless it is still headers and too much of it."""
        if self._is_between_requests():
            self._head_bytes += len(data)
            self._start_clock()
            is_full = len(self.connections) > self.limits.connections
            self.app = too_many_connections if is_full else self.config.loaded_app
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or not self._is_between_requests():  # headers are complete
            self._head_bytes = 0
            self._stop_clock()
        elif self._head_bytes > HEAD_BYTES:
            self.transport.close()
        if len(getattr(self, "pipeline", ())) > MOST_PIPELINED:  # httptools parses all that is sent
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP; uvicorn's own reply would not be JSON."""
        body = error_body(ServiceError(400, "not-http", msg), "")
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def pause_writing(self) -> None:
        """Start the clock for a client that does not read its reply."""
        super().pause_writing()
        if self._send_clock is None:
            loop = asyncio.get_running_loop()
            self._send_clock = loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the clock: everything written so far has been sent."""
        super().resume_writing()
        self._stop_send_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_clock()
        self._stop_send_clock()
        super().connection_lost(exc)

    def _is_between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_clock(self) -> None:
        if self._clock is None:
            seconds = self.limits.header_seconds
            self._clock = asyncio.get_running_loop().call_later(seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _stop_send_clock(self) -> None:
        if self._send_clock is not None:
            self._send_clock.cancel()
            self._send_clock = None

    def _too_slow(self) -> None:
        """Close the connection if the headers are still not complete."""
        self._clock = None
        if self._is_between_requests() and not self.transport.is_closing():
            self.transport.close()


async def too_many_connections(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request beyond the number of connections."""
    body = error_body(ServiceError(503, "overloaded", "too many connections; retry later"), "")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def bound_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Give a socket for each address of a host, bound to one port; 0 chooses a free one.

    Bound before the models are loaded: a port that is in use is noticed at once, and one that was
    chosen cannot be taken by another program meanwhile. Connections are accepted only later.
    """
    with ExitStack() as opened:
        chosen, bound = port, []
        try:
            for family, _, _, _, address in socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            ):
                each = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
                # A chosen port stays ours; a given one may have connections of an earlier service.
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(port > 0))
                if family == socket.AF_INET6:
                    each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                each.bind((address[0], chosen, *address[2:]))
                chosen = each.getsockname()[1]
                bound.append(each)
        except OSError as error:
            got = f"{host}:{port} ({error.strerror})"
            raise InvalidArgumentError("--host, --port", "a free address and port", got) from None
        yield bound


def keep_what_is_loaded() -> None:
    """Spare the garbage collector what is loaded by now: it stays as long as the process.

    A full collection beside a model of 24,000 texts takes 130 ms without this, in which nothing is
    answered; with it, less than 1 ms.
    """
    gc.collect()
    gc.freeze()


class StoppingServer(uvicorn.Server):
    """Ends long work before other requests when it stops, so that its clients still get a reply."""

    def __init__(self, config: uvicorn.Config, engines: Iterable[Engine]) -> None:
        super().__init__(config)
        self._engines = engines

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish, then end the app."""
        loop = asyncio.get_running_loop()
        for engine in self._engines:
            loop.call_later(LONG_WORK_SECONDS, engine.stop_long_work)
        await super().shutdown(sockets)


def run_server(app: FastAPI, sockets: Sequence[socket.socket], limits: Limits) -> None:
    """Serve until SIGINT or SIGTERM; then finish requests, write snapshots and close."""
    protocol = type("LimitedProtocol", (HeadLimits, AutoHTTPProtocol), {"limits": limits})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(limits.header_seconds),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    # uvicorn raises the signal that stopped it again when everything is closed; it is ignored, so
    # that the process ends with code 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    sys.setswitchinterval(SWITCH_SECONDS)
    keep_what_is_loaded()
    log.info("bound", extra={"port": sockets[0].getsockname()[1]})
    with one_blas_thread():
        StoppingServer(config, app.state.engines.values()).run(list(sockets))
    _leave_unfinished_work()


def _leave_unfinished_work() -> None:
    """End the process although a thread still computes something; everything is saved by now."""
    end = time.monotonic() + LAST_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(max(0.0, end - time.monotonic()))
    left = [thread.name for thread in threading.enumerate() if not thread.daemon][1:]
    if left:
        log.warning("ended without waiting for threads", extra={"threads": left})
        logging.shutdown()
        os._exit(0)
