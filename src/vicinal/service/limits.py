"""The limits of the service, and the errors that become replies."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vicinal.errors import InvalidArgumentError

MESSAGE_CHARACTERS = 500
"""Longest message of an error; what it quotes from a request may be as long as the request."""


class ServiceError(Exception):
    """A request that gets an error reply: its status, a short code for programs, a sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.message = message[:MESSAGE_CHARACTERS]
        super().__init__(self.message)
        self.status = status
        self.code = code


class ConflictError(ServiceError):
    """Another process committed the same version first; nothing was committed here."""


class StoreError(ValueError):
    """The store cannot be opened or is damaged; the message says what to do."""


def bad_value(field: str, expected: str, got: object) -> ServiceError:
    """Return the error for one value of a request."""
    return ServiceError(422, "invalid-value", f"{field}: expected {expected}, got {got}")


def stopping() -> ServiceError:
    """Return the error of a request that is not answered, or stopped, because the service ends."""
    return ServiceError(503, "stopping", "the service is shutting down; retry elsewhere")


class Stop:
    """Tells work in a thread that nobody waits for it any longer; calling it raises then."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Stop the work at its next check."""
        self._event.set()

    def __call__(self) -> None:
        """Raise if the work is to stop."""
        if self._event.is_set():
            raise stopping()


REQUEST_SIZES = (
    "rows",
    "text_characters",
    "features",
    "labels",
    "label_characters",
    "top",
    "neighbors",
)
"""Limits that the OpenAPI document states: a service can have narrower ones, not wider ones."""

SMALL_BYTES = 2**14
"""Bodies up to this size are not counted: all requests together have 8 MiB of them."""


@dataclass(frozen=True)
class Limits:
    """Largest request, longest waits, sizes of batches.

    Parameters
    ----------
    body_bytes : int
        Largest request body.
    rows : int
        Most rows per request.
    text_characters : int
        Longest text.
    features : int
        Most features per row, named or dense.
    labels : int
        Most labels per taught row.
    label_characters : int
        Longest label name.
    top, neighbors : int
        Largest ``top`` and ``k`` of a request.
    scores : int
        Most scores in one reply: rows × ``top``.
    neighbor_cells : int
        Most neighbours in one reply: rows × ``k``.
    explained_labels : int
        Most labels explained in one reply: rows × labels per row.
    reply_bytes : int
        Largest reply.
    header_seconds, body_seconds : float
        How long a client may take to send the headers, and then the body.
    answer_seconds : float
        How long a request may wait for its reply.
    send_seconds : float
        How long a client may take to receive its reply; the connection is then closed.
    waiting_bytes : int
        Bytes of all request bodies above ``SMALL_BYTES`` that are being received or answered.
        Smaller ones are not counted, so that large requests do not keep them out.
    unsent_bytes : int
        Bytes of all replies of more than 64 KiB that clients have not received yet.
    batch_rows : int
        Most rows predicted together; one of more than 256 words or features counts as several.
    batch_wait_seconds : float
        How long a request waits for others to join its batch; 0 joins only those already waiting.
    queued_rows : int
        Rows that may wait for one model; further requests are refused until some are answered.
    connections : int
        Connections open at once, and requests answered at once: those of clients that have gone
        are still counted.
    rows_per_snapshot : int
        Rows learned or forgotten after which a snapshot is written; for a model of more than 50
        times as many rows, after a fiftieth of its rows.
    snapshots_kept : int
        Newest snapshots kept per model.
    """

    body_bytes: int = 4 * 2**20
    rows: int = 1000
    text_characters: int = 200_000
    features: int = 200_000
    labels: int = 1000
    label_characters: int = 500
    top: int = 1000
    neighbors: int = 1000
    scores: int = 100_000
    neighbor_cells: int = 10_000
    explained_labels: int = 1000
    reply_bytes: int = 16 * 2**20
    header_seconds: float = 10.0
    body_seconds: float = 15.0
    answer_seconds: float = 60.0
    send_seconds: float = 20.0
    waiting_bytes: int = 16 * 2**20
    unsent_bytes: int = 64 * 2**20
    batch_rows: int = 64
    batch_wait_seconds: float = 0.001
    queued_rows: int = 20_000
    connections: int = 512
    rows_per_snapshot: int = 1000
    snapshots_kept: int = 2


def check_limits(rows: Sequence[Mapping[str, Any]], limits: Limits) -> None:
    """Refuse more rows, or larger ones, than the service allows."""
    if len(rows) > limits.rows:
        raise ServiceError(422, "too-many-rows", f"rows: more than {limits.rows} in one request")
    for place, row in enumerate(rows):
        if len(row.get("text", "")) > limits.text_characters:
            most = f"longer than {limits.text_characters} characters"
            raise ServiceError(422, "text-too-long", f"rows.{place}.text: {most}")
        if len(row.get("labels", ())) > limits.labels:
            most = f"more than {limits.labels} labels"
            raise ServiceError(422, "too-many-labels", f"rows.{place}.labels: {most}")
        if any(len(label) > limits.label_characters for label in row.get("labels", ())):
            most = f"one is longer than {limits.label_characters} characters"
            raise ServiceError(422, "label-too-long", f"rows.{place}.labels: {most}")
        for field in ("features", "values"):
            if len(row.get(field, ())) > limits.features:
                most = f"more than {limits.features} features"
                raise ServiceError(422, "too-many-features", f"rows.{place}.{field}: {most}")
        cells = row.get("features", {}).values()
        if any(len(cell) > limits.text_characters for cell in cells if isinstance(cell, str)):
            most = f"a cell is longer than {limits.text_characters} characters"
            raise ServiceError(422, "text-too-long", f"rows.{place}.features: {most}")


def check_most(field: str, value: int, most: int) -> None:
    """Refuse a number of a request that is larger than the service allows."""
    if value > most:
        raise bad_value(field, f"at most {most}", value)


class Budget:
    """Bytes that requests hold at the same time; used by the event loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    def take(self, count: int) -> None:
        """Hold further bytes, or raise if others hold too many; one request alone always fits."""
        if self.held and self.held + count > self._most:
            raise ServiceError(503, "overloaded", "too much data is waiting; retry later")
        self.held += count

    def give_back(self, count: int) -> None:
        """Hold so many bytes less."""
        self.held -= count


def check_narrower(limits: Limits) -> None:
    """Raise for sizes of requests beyond those that the OpenAPI document states."""
    for name in REQUEST_SIZES:
        stated, given = getattr(Limits(), name), getattr(limits, name)
        if given > stated:
            raise InvalidArgumentError(f"limits.{name}", f"at most {stated}", given)
