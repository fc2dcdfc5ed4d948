"""Middleware for every request: request id, access, limits of size and time, security headers.

Pure ASGI. It reads the body, within the limits of size and time, before anything is parsed. A
request without permission gets its reply before its body is read.
"""

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vicinal.service.access import Access
from vicinal.service.errors import ServiceError
from vicinal.service.limits import Limits
from vicinal.service.telemetry import Metrics

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
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits, metrics: Metrics) -> None:
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
