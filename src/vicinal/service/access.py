"""Who may ask what, and the middleware of every request: access, limits, headers, errors.

Every endpoint declares with :func:`needs` which token it needs. The middleware is pure ASGI. It
reads the body, within the limits of size and time, before anything is parsed. A request without
permission gets its reply before its body is read, and an endpoint that declares nothing cannot be
reached.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vicinal.service.limits import SMALL_BYTES, Budget, Limits, ServiceError
from vicinal.service.telemetry import ServiceMetrics

Need = Literal["open", "read", "write"]
LOOPBACK_NAMES = frozenset(["localhost", "127.0.0.1", "[::1]"])
METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
"""Methods that are counted by name: clients cannot make further counters."""
CHUNK_BYTES = 2**16
"""Replies are sent in parts of this size, so that a client that does not read is noticed."""
SEND_RATE = 100_000
"""Bytes per second that a client must receive of a large reply."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_CANCELLED = "the service is shutting down; repeat a change with the same idempotency key"
log = logging.getLogger("vicinal.service")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def needs(need: Need) -> Callable[[Endpoint], Endpoint]:
    """Declare what an endpoint needs: ``"open"`` (no token), ``"read"`` or ``"write"``.

    ``"open"`` is for what reveals nothing about the models, ``"write"`` for every change.
    """

    def declare(endpoint: Endpoint) -> Endpoint:
        vars(endpoint)["access_need"] = need
        return endpoint

    return declare


class _Declared(NamedTuple):
    path: re.Pattern[str]
    methods: frozenset[str]
    need: Need


class Declarations:
    """What each endpoint of an app needs."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._declared = [_declared(route) for route in routes]

    def need_of(self, method: str, path: str) -> Need | None:
        """Return what a request needs; None if no endpoint has this path."""
        found: Need | None = None
        for each in self._declared:
            if each.path.match(path):
                if method in each.methods:
                    return each.need
                found = "open" if each.need == "open" else "read"  # for another method: 405
        return found


def _declared(route: BaseRoute) -> _Declared:
    if not isinstance(route, Route):
        raise TypeError(f"expected a route with an endpoint, got {type(route).__name__}")
    need = getattr(route.endpoint, "access_need", None)
    if need is None:
        raise TypeError(f"the endpoint {route.path} declares no access: add @needs(...)")
    return _Declared(route.path_regex, frozenset(route.methods or ()), need)


class Access:
    """Decides which requests are permitted."""

    def __init__(
        self,
        read_token: str | None,
        write_token: str | None,
        *,
        loopback: bool = False,
        hosts: Sequence[str] = (),
    ) -> None:
        self._read = _digest(read_token)
        self._write = _digest(write_token)
        self._loopback = loopback
        self._names = LOOPBACK_NAMES | {name.lower() for name in hosts}

    @property
    def needs_read_token(self) -> bool:
        """Whether reading needs a token."""
        return self._read is not None

    @property
    def writes(self) -> Literal["token", "anyone", "nobody"]:
        """Who may write."""
        if self._write is not None:
            return "token"
        return "anyone" if self._loopback else "nobody"

    def check(self, need: Need, headers: Mapping[bytes, bytes]) -> None:
        """Raise an error unless a request with these headers is permitted."""
        host = _host(headers)
        if need == "open":
            return
        if need == "write":
            self._check_write(headers, host)
        elif self._read is not None:
            if not self._has(headers, self._read, self._write):
                raise _token_needed("this needs")
        elif not self._has(headers, self._write):
            self._check_name(host)

    def _check_write(self, headers: Mapping[bytes, bytes], host: str) -> None:
        if self._write is not None:
            if self._has(headers, self._write):
                return
            if self._has(headers, self._read):
                raise ServiceError(403, "read-only-token", "the read token does not permit changes")
            raise _token_needed("changes need")
        if not self._loopback:
            raise ServiceError(
                403, "read-only", "this service is read-only: start it with --write-token"
            )
        if self._read is not None and not self._has(headers, self._read):
            raise _token_needed("this needs")
        self._check_name(host)
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host:
            raise ServiceError(
                403, "not-local", "changes without a token must come from a page of this service"
            )

    def _check_name(self, host: str) -> None:
        """Refuse a request that a browser sends for a page whose name was pointed here."""
        if self._loopback and _name(host) not in self._names:
            raise ServiceError(
                403,
                "not-local",
                "requests without a token must name localhost; --allow-host adds other names",
            )

    def _has(self, headers: Mapping[bytes, bytes], *accepted: bytes | None) -> bool:
        """Tell whether a request has one of the tokens, in a time that does not depend on which."""
        given = _digest(_token(headers.get(b"authorization", b"")))
        if given is None:
            return False
        matches = [hmac.compare_digest(given, token) for token in accepted if token is not None]
        return any(matches)


def _token_needed(what: str) -> ServiceError:
    return ServiceError(401, "token-needed", f"{what} 'Authorization: Bearer TOKEN'")


def _host(headers: Mapping[bytes, bytes]) -> str:
    """Return the Host header in lower case; an empty one if there is none."""
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host and not _HOST.fullmatch(host):
        raise ServiceError(400, "bad-host", "the Host header is not HOST or HOST:PORT")
    return host


def _name(host: str) -> str:
    """Return the name of ``host:port``."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _token(header: bytes) -> str | None:
    """Return the token of an Authorization header: Bearer, or the password of Basic.

    Basic is for programs that can only be given an address, as ``http://any:TOKEN@host/``.
    """
    kind, _, value = header.decode("latin-1").partition(" ")
    if kind.lower() == "bearer":
        return value.strip() or None
    if kind.lower() == "basic":
        try:
            decoded = base64.b64decode(value.strip(), validate=True).decode("utf-8")
        except ValueError:  # neither base64 nor, below it, UTF-8
            return None
        return decoded.partition(":")[2] or None
    return None


def _digest(token: str | None) -> bytes | None:
    """Return a token's SHA-256: comparing digests does not reveal the length of a token."""
    return None if token is None else hashlib.sha256(token.encode()).digest()


class Gate:
    """ASGI middleware around the whole app."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        declarations: Declarations,
        limits: Limits,
        metrics: ServiceMetrics,
    ) -> None:
        self.app = app
        self._access = access
        self._declarations = declarations
        self._limits = limits
        self._metrics = metrics
        self._answering = 0
        self._bodies = Budget(limits.waiting_bytes)
        self._replies = Budget(limits.unsent_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        reply = _Reply(send, _request_id(headers), self._limits, self._replies)
        scope.setdefault("state", {})["request_id"] = reply.request_id
        began = time.perf_counter()
        body = _ReceivedBody(self._bodies, self._limits)
        self._answering += 1  # also while its client has gone and its connection is another's
        try:
            need = self._declarations.need_of(scope["method"], scope["path"])
            self._access.check(need or "read", headers)
            if need is None:
                raise ServiceError(404, "not-found", "Not Found")
            if self._answering > self._limits.connections and need != "open":
                raise ServiceError(503, "overloaded", "too many requests are waiting; retry later")
            await body.read(headers, receive)
            await self.app(scope, _replayed(body.content, receive), reply.send)
        except ServiceError as error:
            await reply.fail(error)
        except asyncio.CancelledError:  # the service ends, and the request took too long
            await reply.fail(ServiceError(503, "stopping", _CANCELLED))
            raise
        except Exception:
            log.exception("request failed", extra={"request_id": reply.request_id})
            await reply.fail(
                ServiceError(500, "internal-error", "the request failed; the log has the details")
            )
        finally:
            self._answering -= 1
            body.release()
            self._record(scope, reply, time.perf_counter() - began)

    def _record(self, scope: Scope, reply: "_Reply", seconds: float) -> None:
        """Count and log the request; never its texts, its query or its tokens."""
        route = getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.requests.labels(method, route, reply.status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        log.info(
            "request",
            extra={
                "request_id": reply.request_id,
                "method": scope["method"],
                "path": scope["path"][:200],
                "status": reply.status,
                "ms": round(seconds * 1000, 3),
                "client": (scope.get("client") or ("", 0))[0],
            },
        )


class _ReceivedBody:
    """The body of one request, counted while the request holds it if it is large."""

    def __init__(self, budget: Budget, limits: Limits) -> None:
        self._budget = budget
        self._limits = limits
        self._held = 0
        self.content = b""

    async def read(self, headers: Mapping[bytes, bytes], receive: Receive) -> None:
        """Read the body, unless it is too large or too slow."""
        most = self._limits.body_bytes
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared[:18]) > most:
            raise _too_large(most)
        if declared == b"0" and b"transfer-encoding" not in headers:
            return
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                await self._read_parts(receive, most)
        except TimeoutError:
            raise ServiceError(
                408, "body-too-slow", f"the body took over {self._limits.body_seconds:g} s"
            ) from None

    async def _read_parts(self, receive: Receive, most: int) -> None:
        received = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ServiceError(400, "disconnected", "the client closed the connection")
            received += message.get("body", b"")
            if len(received) > most:
                raise _too_large(most)
            if len(received) > SMALL_BYTES:
                self._budget.take(len(received) - self._held)
                self._held = len(received)
            if not message.get("more_body", False):
                self.content = bytes(received)
                return

    def release(self) -> None:
        """Let other requests hold as much."""
        self._budget.give_back(self._held)
        self._held = 0


class _Reply:
    """The reply to one request; adds the headers that every reply has."""

    def __init__(self, send: Send, request_id: str, limits: Limits, budget: Budget) -> None:
        self._send = send
        self._limits = limits
        self._budget = budget
        self._start: Message | None = None
        self.request_id = request_id
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a part of the reply; the head only together with the first part of the body."""
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            added = [pair for pair in SECURITY_HEADERS if pair[0] not in present]
            added.append((b"x-request-id", self.request_id.encode()))
            self._start = {**message, "headers": [*message["headers"], *added]}
            return
        body = message.get("body", b"")
        if len(body) <= CHUNK_BYTES:
            await self._begin()
            await self._send(message)
        else:
            await self._send_large(body, message.get("more_body", False))

    async def _begin(self) -> None:
        """Send the head, if it is not sent yet."""
        if self._start is not None:
            start, self._start = self._start, None
            self.status = start["status"]
            await self._send(start)

    async def _send_large(self, body: bytes, is_more: bool) -> None:
        """Send a body in parts, within the time that its size allows."""
        self._budget.take(len(body))
        try:
            async with asyncio.timeout(self._limits.send_seconds + len(body) / SEND_RATE):
                await self._begin()
                for start in range(0, len(body), CHUNK_BYTES):
                    stop = start + CHUNK_BYTES
                    more = is_more or stop < len(body)
                    part = {"body": body[start:stop], "more_body": more}
                    await self._send({"type": "http.response.body", **part})
        except TimeoutError:
            raise ServiceError(408, "reply-not-read", "the client did not read its reply") from None
        finally:
            self._budget.give_back(len(body))

    async def fail(self, error: ServiceError) -> None:
        """Send an error, unless a reply has begun; then only end the connection."""
        if self.status:
            if error.code == "reply-not-read":
                raise error
            return
        body = error_body(error, self.request_id)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        if error.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if error.status == 503:
            headers.append((b"retry-after", b"1"))
        if error.status in (400, 408, 413, 503):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await self.send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def error_body(error: ServiceError, request_id: str) -> bytes:
    """Return the JSON of an error reply."""
    content: dict[str, Any] = {"code": error.code, "message": error.message}
    return json.dumps({"error": content | {"request_id": request_id}}).encode()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the body read before."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _too_large(most: int) -> ServiceError:
    return ServiceError(413, "body-too-large", f"the body is larger than {most:,} bytes")


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    """Return the caller's request id if it is a plain word, else a new one."""
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
