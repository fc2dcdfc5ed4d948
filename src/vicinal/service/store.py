"""The store: every change in one SQLite file, durable before it is acknowledged.

``journal_mode=WAL`` with ``synchronous=FULL``: a commit has reached the disk when it returns.
(``NORMAL`` may lose acknowledged commits when power fails.)

Events are never changed or removed. Each has a SHA-256 over all its columns and over the SHA-256 of
the event before it, so that a changed, missing or foreign event is found when the store is opened.
The digest of an event therefore names the whole history up to it, and a snapshot that names the
same digest contains exactly this history.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from vicinal._core.files import sync_folder
from vicinal.service.limits import ConflictError, ServiceError, StoreError

Kind = Literal["learn", "forget"]


@dataclass(frozen=True)
class Change:
    """A request to learn or forget rows."""

    kind: Kind
    rows: tuple[Any, ...]
    key: str | None = None
    origin: str | None = None

    @cached_property
    def payload(self) -> str:
        """The rows as JSON, the same for the same rows."""
        return json.dumps(self.rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    def repeats(self, earlier: "Change") -> bool:
        """Tell whether an earlier change asked for the same."""
        return (self.kind, self.payload, self.origin) == (
            earlier.kind,
            earlier.payload,
            earlier.origin,
        )


@dataclass(frozen=True)
class Event:
    """A change with its place in the model's history."""

    model: str
    version: int
    change: Change
    row_ids: tuple[int, ...]
    taught_at: str
    previous: str

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything above: it names this event and the whole history before it."""
        return _digest(self.columns)

    @cached_property
    def columns(self) -> tuple[object, ...]:
        """What the table keeps, except for the digest."""
        change = self.change
        return (
            *(self.model, self.version, change.kind, change.payload, json.dumps(self.row_ids)),
            *(change.key, change.origin, self.taught_at, self.previous),
        )


def _digest(columns: Sequence[object]) -> str:
    """Return the SHA-256 of an event's columns."""
    return hashlib.sha256(json.dumps(columns).encode()).hexdigest()


def first_digest(fingerprint: str) -> str:
    """Return the digest of the empty history of a model."""
    return hashlib.sha256(f"model\n{fingerprint}".encode()).hexdigest()


FORMAT = 2
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
  key TEXT,
  origin TEXT,
  taught_at TEXT NOT NULL,
  previous TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (model, version)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS events_by_key ON events (model, key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_by_origin ON events (model, origin) WHERE origin IS NOT NULL;
"""
_COLUMNS = "model, version, kind, payload, row_ids, key, origin, taught_at, previous, digest"
NEEDED_BYTES = 2**17
"""Room that opening the store may need: SQLite calls a lack of it a disk I/O error."""
RECOVERY = "see 'Recovery' in docs/how-to/deploy.md"


class EventStore:
    """Events of several models in one file.

    Versions are the keys of the events, so that of two processes that teach one model at the same
    time only one commits a version; the other gets :class:`ConflictError` and must replay first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._connection = _open(path)
        self._lookups = _Reader(path)
        self._lists = _Reader(path)
        self._checkpoints = _Checkpoints(path)
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

    def verify(self, model: str, versions: Collection[int]) -> dict[int, str]:
        """Check every event of a model and that none is missing.

        Returns the digests of some versions, as far as the store has them; version 0 is the model
        as it was trained. Reads one event at a time: about 7 µs per event.
        """
        digest = first_digest(self._bound[model])
        found = {0: digest} if 0 in versions else {}
        expected = 1
        with self._rows("WHERE model = ? ORDER BY version", (model,), self._lookups) as rows:
            for *columns, stored in rows:
                if columns[1] != expected or columns[-1] != digest:
                    raise self.gap(model, expected)
                digest = _digest(columns)
                if digest != stored:
                    raise self._damaged(model, expected)
                if expected in versions:
                    found[expected] = digest
                expected += 1
        return found

    def gap(self, model: str, version: int) -> StoreError:
        """Return the error for a history in which an event is missing or foreign."""
        what = f"event {version} of {model!r} is missing or does not follow the one before"
        return StoreError(f"{self.path.name}: {what}; {RECOVERY}")

    def _damaged(self, model: str, version: int) -> StoreError:
        return StoreError(f"{self.path.name}: event {version} of {model!r} is damaged; {RECOVERY}")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from committing until :meth:`append` has committed, or the end."""
        with self._guard, _clear_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def append(self, events: Sequence[Event]) -> None:
        """Commit events, all or none; when this returns they survive a loss of power."""
        rows = [(*event.columns, event.digest) for event in events]
        with self._transaction() as sql:
            for model in {event.model for event in events}:
                self._refuse_another(sql, model)
            sql.executemany(f"INSERT INTO events ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        self._checkpoints.after_commit(sum(len(event.change.payload) for event in events))

    def by_key(self, model: str, key: str) -> Event | None:
        """Return the event that was committed with an idempotency key."""
        found = self._select("WHERE model = ? AND key = ?", (model, key))
        return found[0] if found else None

    def learned_from(self, model: str, origin: str) -> list[int]:
        """Return the ids of all rows that ever came from one object of another program."""
        where = "WHERE model = ? AND origin = ? AND kind = 'learn' ORDER BY version"
        with self._lookups.lock, _clear_errors(self.path):
            found = self._lookups.execute(f"SELECT row_ids FROM events {where}", (model, origin))
            return [row_id for (text,) in found for row_id in json.loads(text)]

    def after(self, model: str, version: int, most_bytes: int) -> list[Event]:
        """Return the next events later than `version`, in order.

        As many as have `most_bytes` of rows between them; the last one may go beyond that.
        """
        where = "WHERE model = ? AND version > ? ORDER BY version"
        return self._select(where, (model, version), most_bytes)

    def latest(self, model: str, version: int, count: int, most_bytes: int) -> list[Event]:
        """Return the newest events up to a version, newest first; fewer if they are large."""
        where = "WHERE model = ? AND version <= ? ORDER BY version DESC LIMIT ?"
        return self._select(where, (model, version, count), most_bytes, self._lists)

    def last_version(self, model: str) -> int:
        """Return the version of the newest event; 0 if there is none."""
        with self._lookups.lock, _clear_errors(self.path):
            sql = "SELECT COALESCE(MAX(version), 0) FROM events WHERE model = ?"
            return int(self._lookups.execute(sql, (model,)).fetchone()[0])

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        self._checkpoints.close()
        with self._guard, self._lookups.lock, self._lists.lock:
            self._lookups.close()
            self._lists.close()
            self._connection.close()

    def _refuse_another(self, sql: sqlite3.Connection, model: str) -> None:
        """Raise if the events of a model belong to another one than this process serves."""
        row = sql.execute("SELECT fingerprint FROM models WHERE id = ?", (model,)).fetchone()
        if row[0] != self._bound[model]:
            raise StoreError(
                f"{self.path.name} holds what was taught to another model named {model!r}. Serve "
                "the model that the store was started with, or choose a new file with --store"
            )

    def _select(
        self,
        where: str,
        values: tuple[object, ...],
        most_bytes: int | None = None,
        reader: "_Reader | None" = None,
    ) -> list[Event]:
        """Return events, of `most_bytes` between them if that is given."""
        found: list[Event] = []
        read = 0
        with self._rows(where, values, reader or self._lookups) as rows:
            for row in rows:
                found.append(self._event(row))
                read += len(found[-1].change.payload)
                if most_bytes is not None and read >= most_bytes:
                    break
        return found

    @contextmanager
    def _rows(
        self, where: str, values: tuple[object, ...], reader: "_Reader"
    ) -> Iterator[Iterator[Any]]:
        """Read rows of the table of events; the connection for changes is not used."""
        with reader.lock, _clear_errors(self.path):
            rows = reader.execute(f"SELECT {_COLUMNS} FROM events {where}", values)
            try:
                yield rows
            finally:
                rows.close()

    def _event(self, row: Sequence[Any]) -> Event:
        """Return the event of one row of the table, checked against its digest."""
        *columns, digest = row
        model, version, kind, payload, row_ids, key, origin, taught_at, previous = columns
        if _digest(columns) != digest:
            raise self._damaged(model, version)
        change = Change(kind, tuple(json.loads(payload)), key, origin)
        return Event(model, version, change, tuple(json.loads(row_ids)), taught_at, previous)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction: committed at the end, rolled back at any error."""
        with self._guard, _clear_errors(self.path):
            if not self._connection.in_transaction:  # else it began in `exclusive`
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise


class _Reader:
    """A connection that only reads, for one thread at a time: its user holds the lock.

    Lists for clients have another one than the lookups of lessons, which never wait for a list.
    """

    def __init__(self, path: Path) -> None:
        self.lock = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA query_only=ON")

    def execute(self, sql: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        """Run a query."""
        return self._connection.execute(sql, values)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


CHECKPOINT_PAGES = 1000
"""Pages of the log after which they are moved into the file: 4 MiB."""
MOST_PAGES = 16 * CHECKPOINT_PAGES
"""Pages of the log after which a commit moves them itself, if the thread does not keep up."""
PAGES_PER_COMMIT = 3
"""Pages that a small commit writes: of the table, and of its indexes."""
PAGE_BYTES = 4096


class _Checkpoints:
    """Moves what was committed from the write-ahead log into the file, in a thread of its own.

    SQLite does so within a commit, which then waits three times for the disk instead of once.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._running: Future[None] | None = None
        self._pages = 0

    def after_commit(self, n_bytes: int) -> None:
        """Count a commit of so many bytes; start a checkpoint if one is due."""
        self._pages += PAGES_PER_COMMIT + n_bytes // PAGE_BYTES
        is_running = self._running is not None and not self._running.done()
        if self._pages >= CHECKPOINT_PAGES and not is_running:
            self._pages = 0
            with suppress(RuntimeError):  # no thread can be started; the change is committed
                self._running = self._thread.submit(self._run)

    def _run(self) -> None:
        """Move what no reader needs in the log; nobody waits for it."""
        with suppress(sqlite3.Error):  # what was committed stays in the log
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Finish a checkpoint, and close the connection."""
        self._thread.shutdown()
        self._connection.close()


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
        if tables and written != FORMAT:
            other = "newer" if written > FORMAT else "older"
            raise StoreError(
                f"{path}: expected format {FORMAT}, got {written}, of {other} software; "
                "choose a new --store"
            )
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError(f"{path}: its file system does not support SQLite's write-ahead log")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint={MOST_PAGES}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")


def _is_full(folder: Path) -> bool:
    """Tell whether the disk has no room for the files that SQLite needs beside the store."""
    return shutil.disk_usage(folder).free < NEEDED_BYTES


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into replies; nothing of the transaction was kept."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _reply(error, path) from error


def _reply(error: sqlite3.DatabaseError, path: Path) -> ServiceError:
    """Return the reply to an error of SQLite."""
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
