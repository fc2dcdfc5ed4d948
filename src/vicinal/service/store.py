"""The store: every change in one SQLite file, durable before it is acknowledged.

``journal_mode=WAL`` with ``synchronous=FULL``: a commit has reached the disk when it returns.
(``NORMAL`` may lose acknowledged commits when power fails.) Every event has a SHA-256, so that the
service finds damage that SQLite does not notice before it learns from it.

Events are never changed or removed; an event that the model cannot apply is marked as refused.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vicinal._core.files import sync_folder
from vicinal.service.limits import ConflictError, ServiceError, StoreError

Kind = Literal["learn", "forget"]


@dataclass(frozen=True)
class Change:
    """A request to learn or forget rows.

    Parameters
    ----------
    kind : {"learn", "forget"}
    rows : tuple of dict, or of int
        The examples to learn, each with ``labels`` and one of ``text``, ``features``, ``values``;
        or the ids of the rows to forget.
    key : str or None
        Idempotency key: a repeated request with the same key is not carried out twice.
    origin : str or None
        Object of another program behind the example, such as ``"label-studio:1:7"``.
    """

    kind: Kind
    rows: tuple[Any, ...]
    key: str | None = None
    origin: str | None = None

    @property
    def payload(self) -> str:
        """The rows as JSON, the same for the same rows."""
        return json.dumps(self.rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of kind and rows."""
        return digest_of(self.kind, self.payload)


@dataclass(frozen=True)
class Event:
    """A change with its place in the model's history.

    Parameters
    ----------
    model : str
    version : int
        The version of the model that this change makes; 1, 2, 3, … without gaps.
    change : Change
    row_ids : tuple of int
        Ids that the learned rows get, or of the rows forgotten.
    taught_at : str
        UTC time, for people only: order is that of `version`, whatever the clock does.
    refused : str or None
        Why the model could not take this change; such an event has no effect.
    """

    model: str
    version: int
    change: Change
    row_ids: tuple[int, ...]
    taught_at: str
    refused: str | None = None


def digest_of(kind: str, payload: str) -> str:
    """Return the SHA-256 of a change: equal for equal changes, different for a damaged one.

    Examples
    --------
    >>> digest_of("forget", "[3]")[:8]
    '9d63d1bc'
    """
    return hashlib.sha256(f"{kind}\n{payload}".encode()).hexdigest()


FORMAT = 1
APPLICATION_ID = 0x76696369  # "vici"
SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
  id TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS events (
  model TEXT NOT NULL REFERENCES models(id),
  version INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('learn', 'forget')),
  payload TEXT NOT NULL,
  row_ids TEXT NOT NULL,
  digest TEXT NOT NULL,
  key TEXT,
  origin TEXT,
  taught_at TEXT NOT NULL,
  refused TEXT,
  PRIMARY KEY (model, version)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS events_by_key ON events (model, key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_by_origin ON events (model, origin) WHERE origin IS NOT NULL;
"""
_COLUMNS = "model, version, kind, payload, row_ids, digest, key, origin, taught_at, refused"
NEEDED_BYTES = 2**17
"""Room that opening the store may need: SQLite calls a lack of it a disk I/O error."""
RECOVERY = "see 'Recovery' in docs/service.md"


class EventStore:
    """Events of several models in one file.

    Versions are the keys of the events, so that of two processes that teach one model at the same
    time only one commits a version; the other gets :class:`ConflictError` and must replay first.

    Parameters
    ----------
    path : Path
        Created if absent, readable by its owner only. ``-wal`` and ``-shm`` files lie beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._connection = _open(path)
        self._bound: dict[str, str] = {}

    def bind(self, model: str, fingerprint: str) -> None:
        """Record which model the events belong to, or refuse a different model with the same id.

        A model that was never taught may be replaced, for example by one that was trained again.
        """
        with self._transaction() as sql:
            sql.execute(
                "INSERT INTO models VALUES (?, ?) "
                "ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint "
                "WHERE NOT EXISTS (SELECT 1 FROM events WHERE model = excluded.id)",
                (model, fingerprint),
            )
            self._bound[model] = fingerprint
            self._refuse_another(sql, model)

    def append(self, events: Sequence[Event]) -> None:
        """Commit events, all or none; when this returns they survive a loss of power."""
        rows = [
            (
                event.model,
                event.version,
                event.change.kind,
                event.change.payload,
                json.dumps(event.row_ids),
                event.change.digest,
                event.change.key,
                event.change.origin,
                event.taught_at,
                event.refused,
            )
            for event in events
        ]
        with self._transaction() as sql:
            for model in {event.model for event in events}:
                self._refuse_another(sql, model)
            sql.executemany(f"INSERT INTO events ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)", rows)

    def refuse(self, model: str, version: int, reason: str) -> None:
        """Mark an event that the model could not take."""
        with self._transaction() as sql:
            sql.execute(
                "UPDATE events SET refused = ? WHERE model = ? AND version = ?",
                (reason, model, version),
            )

    def by_key(self, model: str, key: str) -> Event | None:
        """Return the event that was committed with an idempotency key."""
        found = self._select("WHERE model = ? AND key = ?", (model, key))
        return found[0] if found else None

    def by_origin(self, model: str, origin: str) -> list[Event]:
        """Return the events that came from one object of another program, oldest first."""
        return self._select("WHERE model = ? AND origin = ? ORDER BY version", (model, origin))

    def after(self, model: str, version: int, most_bytes: int) -> list[Event]:
        """Return the next events later than `version`, in order.

        As many as have `most_bytes` of rows between them; the last one may go beyond that.
        """
        where = "WHERE model = ? AND version > ? ORDER BY version"
        return self._select(where, (model, version), most_bytes)

    def latest(self, model: str, count: int) -> list[Event]:
        """Return the newest events, newest first."""
        return self._select("WHERE model = ? ORDER BY version DESC LIMIT ?", (model, count))

    def last_version(self, model: str) -> int:
        """Return the version of the newest event; 0 if there is none."""
        with self._guard, _clear_errors(self.path):
            sql = "SELECT COALESCE(MAX(version), 0) FROM events WHERE model = ?"
            return int(self._connection.execute(sql, (model,)).fetchone()[0])

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        with self._guard:
            self._connection.close()

    def _refuse_another(self, sql: sqlite3.Connection, model: str) -> None:
        """Raise if the events of a model belong to another one than this process serves."""
        row = sql.execute("SELECT fingerprint FROM models WHERE id = ?", (model,)).fetchone()
        if row[0] != self._bound[model]:
            raise StoreError(
                f"{self.path} holds what was taught to another model named {model!r}. Serve the "
                "model that the store was started with, or choose a new file with --store"
            )

    def _select(
        self, where: str, values: tuple[object, ...], most_bytes: int | None = None
    ) -> list[Event]:
        """Return events, of `most_bytes` between them if that is given."""
        found: list[Event] = []
        read = 0
        with self._guard, _clear_errors(self.path):
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM events {where}", values)
            for row in rows:
                found.append(_event(self.path, row))
                read += len(row[3])
                if most_bytes is not None and read >= most_bytes:
                    break
            rows.close()
        return found

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction: committed at the end, rolled back at any error."""
        with self._guard, _clear_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise


def _open(path: Path) -> sqlite3.Connection:
    """Open or create the file, check it, and set it up for durable commits."""
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"{path}: the store cannot be opened: {error.strerror}") from None
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
        try:
            _prepare(connection, path, is_new)
        except BaseException:
            connection.close()
            raise
    except sqlite3.DatabaseError as error:
        reason = "the disk is full" if _is_full(path.parent) else str(error)
        raise StoreError(f"{path}: the store cannot be opened: {reason}; {RECOVERY}") from None
    if is_new:
        sync_folder(path.parent)
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, is_new: bool) -> None:
    """Check that the file is ours and whole; then the settings that make commits durable."""
    if not is_new:
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise StoreError(f"{path} is damaged: {problem}; {RECOVERY}")
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if tables and found != APPLICATION_ID:
            raise StoreError(f"{path} is a SQLite file of another program; choose a new --store")
        written = connection.execute("PRAGMA user_version").fetchone()[0]
        if written > FORMAT:
            raise StoreError(f"{path}: expected format {FORMAT}, got {written}, of a newer release")
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError(f"{path}: its file system does not support SQLite's write-ahead log")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")


def _is_full(folder: Path) -> bool:
    """Tell whether the disk has no room for the files that SQLite needs beside the store."""
    return shutil.disk_usage(folder).free < NEEDED_BYTES


def _event(path: Path, row: tuple[Any, ...]) -> Event:
    """Return the event of one row of the table, checked against its digest."""
    model, version, kind, payload, row_ids, digest, key, origin, taught_at, refused = row
    if digest_of(kind, payload) != digest:
        raise StoreError(f"{path}: event {version} of {model!r} is damaged; {RECOVERY}")
    change = Change(kind, tuple(json.loads(payload)), key, origin)
    return Event(model, version, change, tuple(json.loads(row_ids)), taught_at, refused)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into replies; nothing of the transaction was kept."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _reply(error, path) from error


def _reply(error: sqlite3.DatabaseError, path: Path) -> ServiceError:
    """Return the reply to an error of SQLite.

    Examples
    --------
    >>> _reply(sqlite3.OperationalError("database or disk is full"), Path("taught.sqlite")).message
    'nothing was learned: the disk that holds taught.sqlite is full. Free some space and retry'
    """
    if isinstance(error, sqlite3.IntegrityError):
        return ConflictError(503, "store-conflict", "another process teaches this model; retry")
    text = str(error)
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL") or "disk is full" in text:
        reason = f"the disk that holds {path.name} is full. Free some space and retry"
        return ServiceError(507, "disk-full", f"nothing was learned: {reason}")
    if name.startswith("SQLITE_READONLY") or "readonly" in text:
        reason = f"{path.name} or its folder is read-only. Make it writable and retry"
        return ServiceError(503, "store-read-only", f"nothing was learned: {reason}")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        reason = f"{path.name} is damaged; {RECOVERY}"
        return ServiceError(503, "store-damaged", f"nothing was learned: {reason}")
    return ServiceError(503, "store-failed", f"nothing was learned: {path.name}: {text}")
