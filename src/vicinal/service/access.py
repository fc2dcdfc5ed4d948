"""Tokens, and the middleware of every request: access, limits of size and time, headers.

The middleware is pure ASGI. It reads the body, within the limits of size and time, before anything
is parsed. A request without permission gets its reply before its body is read.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vicinal.service.limits import Limits, ServiceError
from vicinal.service.telemetry import ServiceMetrics

Need = Literal["open", "read", "write"]

OPEN_PATHS = frozenset(
    ["/", "/livez", "/readyz", "/docs", "/openapi.json", "/favicon.ico", "/label-studio/health"]
)
"""Paths that need no token, because they reveal nothing about the models."""

WRITES = frozenset(["learn", "forget", "snapshot", "webhook"])
"""Last parts of the paths that change something."""

LOOPBACK_NAMES = frozenset(["localhost", "127.0.0.1", "::1", "[::1]"])


def need_of(method: str, path: str) -> Need:
    """Return which token a request needs; every path that is not listed needs the read token.

    Examples
    --------
    >>> need_of("POST", "/v1/models/m/learn"), need_of("GET", "/v1/models"), need_of("GET", "/")
    ('write', 'read', 'open')
    """
    if path in OPEN_PATHS or path.startswith("/static/"):
        return "open"
    is_reading = method in ("GET", "HEAD", "OPTIONS")
    return "write" if not is_reading and path.rpartition("/")[2] in WRITES else "read"


class Access:
    """Decides which requests are permitted.

    Parameters
    ----------
    read_token : str or None
        None: anyone may read.
    write_token : str or None
        None: nobody may write, unless `loopback_writes`. It permits reading too.
    loopback_writes : bool
        Whether anyone who reaches the service may write when there is no write token; only for a
        service that is bound to the loopback interface. The request must then name a loopback host,
        so that a web page elsewhere cannot make a browser teach the model.
    """

    def __init__(
        self, read_token: str | None, write_token: str | None, *, loopback_writes: bool = False
    ) -> None:
        self._read = _digest(read_token)
        self._write = _digest(write_token)
        self._loopback_writes = loopback_writes and write_token is None

    @property
    def needs_read_token(self) -> bool:
        """Whether reading needs a token."""
        return self._read is not None

    @property
    def writes(self) -> Literal["token", "anyone", "nobody"]:
        """Who may write."""
        if self._write is not None:
            return "token"
        return "anyone" if self._loopback_writes else "nobody"

    def check(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> None:
        """Raise an error unless the request is permitted."""
        need = need_of(method, path)
        if need == "open":
            return
        if need == "write":
            self._check_write(headers)
        elif self._read is not None and not self._has(headers, self._read, self._write):
            raise ServiceError(401, "token-needed", "this needs 'Authorization: Bearer TOKEN'")

    def _check_write(self, headers: Mapping[bytes, bytes]) -> None:
        if self._write is not None:
            if self._has(headers, self._write):
                return
            if self._has(headers, self._read):
                raise ServiceError(403, "read-only-token", "the read token does not permit changes")
            raise ServiceError(401, "token-needed", "changes need 'Authorization: Bearer TOKEN'")
        if not self._loopback_writes:
            raise ServiceError(
                403, "read-only", "this service is read-only: start it with --write-token"
            )
        if self._read is not None and not self._has(headers, self._read):
            raise ServiceError(401, "token-needed", "this needs 'Authorization: Bearer TOKEN'")
        _check_local(headers)

    def _has(self, headers: Mapping[bytes, bytes], *accepted: bytes | None) -> bool:
        """Tell whether a request has one of the tokens, in a time that does not depend on which."""
        given = _digest(_token(headers.get(b"authorization", b"")))
        if given is None:
            return False
        matches = [hmac.compare_digest(given, token) for token in accepted if token is not None]
        return any(matches)


def _check_local(headers: Mapping[bytes, bytes]) -> None:
    """Refuse a change that a browser requests on behalf of a page from another site."""
    host = urlsplit("//" + headers.get(b"host", b"").decode("latin-1"))
    origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
    is_foreign = bool(headers.get(b"origin")) and origin.netloc != host.netloc
    if _name(host.netloc) not in LOOPBACK_NAMES or is_foreign:
        raise ServiceError(
            403, "not-local", "changes without a token must come from a page of this machine"
        )


def _name(netloc: str) -> str:
    """Return the host of ``host:port``.

    Examples
    --------
    >>> _name("localhost:8000"), _name("[::1]:8000"), _name("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    if netloc.startswith("["):
        return netloc.partition("]")[0] + "]"
    return netloc.partition(":")[0]


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
        except (binascii.Error, UnicodeDecodeError):
            return None
        return decoded.partition(":")[2] or None
    return None


def _digest(token: str | None) -> bytes | None:
    """Return a token's SHA-256: comparing digests does not reveal the length of a token."""
    return None if token is None else hashlib.sha256(token.encode()).digest()


log = logging.getLogger("vicinal.service")
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


class Gate:
    """ASGI middleware around the whole app.

    Parameters
    ----------
    app : ASGI app
    access : Access
    limits : Limits
    metrics : ServiceMetrics
    """

    def __init__(
        self, app: ASGIApp, *, access: Access, limits: Limits, metrics: ServiceMetrics
    ) -> None:
        self.app = app
        self._access = access
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        reply = _Reply(send, _request_id(headers))
        scope.setdefault("state", {})["request_id"] = reply.request_id
        began = time.perf_counter()
        try:
            self._access.check(scope["method"], scope["path"], headers)
            body = await self._body(headers, receive)
            await self.app(scope, _replayed(body, receive), reply.send)
        except ServiceError as error:
            await reply.fail(error)
        except Exception:
            log.exception("request failed", extra={"request_id": reply.request_id})
            await reply.fail(
                ServiceError(500, "internal-error", "the request failed; the log has the details")
            )
        finally:
            self._record(scope, reply, time.perf_counter() - began)

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Return the body, unless it is too large or too slow."""
        most = self._limits.body_bytes
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared[:18]) > most:
            raise _too_large(most)
        if declared == b"0" and b"transfer-encoding" not in headers:
            return b""
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ServiceError(400, "disconnected", "the client closed the connection")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise _too_large(most)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise ServiceError(
                408, "body-too-slow", f"the body took over {self._limits.body_seconds:g} s"
            ) from None

    def _record(self, scope: Scope, reply: "_Reply", seconds: float) -> None:
        """Count and log the request; never its texts, its query or its tokens."""
        route = getattr(scope.get("route"), "path", "unmatched")
        self._metrics.requests.labels(scope["method"], route, reply.status).inc()
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


class _Reply:
    """The reply to one request; adds the headers that every reply has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a part of the reply."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name for name, _ in message["headers"]}
            added = [pair for pair in SECURITY_HEADERS if pair[0] not in present]
            added.append((b"x-request-id", self.request_id.encode()))
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def fail(self, error: ServiceError) -> None:
        """Send an error, unless a reply has begun."""
        if self.status:
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
        if error.status in (400, 408, 413):
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
