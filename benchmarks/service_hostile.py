"""Hostile clients while others are served: refused within the limits, and the service stays up."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from benchmarks.service_process import HOST, TOKEN, ServiceProcess

SLOW_CLIENTS = 100
PREDICT = "/v1/models/debtags/predict"
WORD = b'{"rows": [{"text": "' + b"a" * 10_000_000 + b'"}]}'
NESTED = b'{"rows": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
LONG_TEXT = b'{"rows": [{"text": "' + b"a" * 3_000_000 + b'"}]}'
WORDS = b",".join(b'"word%d":1' % number for number in range(2000))
FEATURES = b'{"rows":[' + b",".join([b'{"features":{%s}}' % WORDS] * 140) + b"]}"
TEXT_ROW = b'{"text": "an editor for the terminal"}'
UNREAD_CLIENTS = 10


def post(path: str, body: bytes, token: str = TOKEN) -> bytes:
    """Return a request with any body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


ATTACKS: dict[str, bytes] = {
    "without a token": post("/v1/models/debtags/learn", b'{"rows": []}', "wrong-token"),
    "10 MB of one word": post(PREDICT, WORD),
    "3 MB of one word": post(PREDICT, LONG_TEXT),
    "deeply nested JSON": post(PREDICT, NESTED),
    "malformed JSON": post(PREDICT, b'{"rows": [{"text": '),
    "bytes of no encoding": post(PREDICT, b'{"rows": [{"text": "\xff\xfe\xc0"}]}'),
    "NUL bytes": post(PREDICT, b"\x00" * 1000),
    "NUL bytes instead of HTTP": b"\x00" * 1000,
    "a header of 1 MB": b"GET / HTTP/1.1\r\nX: " + b"a" * 2**20,
    "3.8 MB of features to /neighbors": post("/v1/models/debtags/neighbors", FEATURES),
    "300 rows with k = 1,000": post(
        "/v1/models/debtags/neighbors", b'{"k":1000,"rows":[%s]}' % b",".join([TEXT_ROW] * 300)
    ),
    "1,000 rows to explain": post(
        "/v1/models/debtags/explain", b'{"rows":[%s]}' % b",".join([TEXT_ROW] * 1000)
    ),
    "10 rows with k = 1,000, reply not read": post(
        "/v1/models/debtags/neighbors", b'{"k":1000,"rows":[%s]}' % b",".join([TEXT_ROW] * 10)
    ),
    "Host: [": b"GET /v1/models HTTP/1.1\r\nHost: [\r\n\r\n",
    "a length that is no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -7\r\n\r\n",
}


def attack(server: ServiceProcess, seconds: float) -> dict[str, Counter[str]]:
    """Send every hostile request again and again, beside slow clients; return what each got."""
    end = time.monotonic() + seconds
    slow = ("slow headers", "slow body", "replies not read")
    found = {name: Counter[str]() for name in (*ATTACKS, *slow)}

    def repeat(name: str) -> None:
        while time.monotonic() < end:
            found[name][_outcome(server.port, ATTACKS[name])] += 1

    def drip(name: str, first: bytes, part: bytes) -> None:
        while time.monotonic() < end:
            found[name][_dripped(server.port, first, part, end)] += 1

    slow_body = post(PREDICT, b"x" * 1000)[:-999]
    jobs: list[Callable[[], None]] = [partial(repeat, name) for name in ATTACKS]
    for _ in range(SLOW_CLIENTS // 2):
        jobs.append(partial(drip, "slow headers", b"GET / HTTP/1.1\r\n", b"X: y\r\n"))
        jobs.append(partial(drip, "slow body", slow_body, b"x"))
    request = post("/v1/models/debtags/neighbors", b'{"k":1000,"rows":[%s]}' % TEXT_ROW) * 4

    def ignore() -> None:
        while time.monotonic() < end:
            found["replies not read"][_unread(server.port, request, end)] += 1

    jobs += [ignore] * UNREAD_CLIENTS
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _outcome(port: int, request: bytes) -> str:
    """Send a request; return the status of the reply, or that the connection was closed."""
    with socket.create_connection((HOST, port), timeout=30) as connection:
        received = b""
        try:
            connection.sendall(request)
            received = connection.recv(4096)
        except ConnectionError:
            received = _rest(connection)
        return received.split(b" ", 2)[1].decode() if received.startswith(b"HTTP/") else "closed"


def _unread(port: int, request: bytes, end: float) -> str:
    """Send requests and read nothing; return whether the service closed the connection."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((HOST, port))
        try:
            while time.monotonic() < end:
                connection.sendall(request)
                time.sleep(0.5)
        except OSError:
            return "closed"
    return "open"


def _rest(connection: socket.socket) -> bytes:
    """Return what arrived before the connection was reset."""
    try:
        return connection.recv(4096)
    except OSError:
        return b""


def _dripped(port: int, first: bytes, part: bytes, end: float) -> str:
    """Send a request part by part, one per half second, until the service closes the connection."""
    with socket.create_connection((HOST, port), timeout=1) as connection:
        connection.settimeout(0.5)
        try:
            connection.sendall(first)
            while time.monotonic() < end:
                try:
                    received = connection.recv(4096)
                    return received.split(b" ", 2)[1].decode() if received else "closed"
                except TimeoutError:
                    connection.sendall(part)
        except OSError:
            return "closed"
        return "open at the end"
