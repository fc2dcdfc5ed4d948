"""Access control: bearer tokens, and what is allowed without a token."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from vicinal.service.errors import ServiceError

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
