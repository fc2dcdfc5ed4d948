"""Events: one per learn or forget request, as the store keeps them."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

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
