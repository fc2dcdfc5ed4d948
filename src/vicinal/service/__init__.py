"""The service: models over HTTP, taught while they are served (extra ``[serve]``).

Input: saved models and a file that stores what users teach. Output: an ASGI app with a JSON
interface, a web page, and the dialects of Annif and Label Studio. A change passes through
``access`` (tokens, limits) → ``api`` (JSON) → ``engine`` (batches) → ``learner`` (check, apply,
commit, reply) → ``store`` (SQLite) and ``served_model`` (one whole version per request). At its
start the service loads the newest snapshot and replays later changes.

May be imported by ``cli`` only; FastAPI and uvicorn are imported when an app is made.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from vicinal.errors import MissingExtraError
from vicinal.service.limits import Limits

if TYPE_CHECKING:
    from fastapi import FastAPI

    from vicinal.service.app import Sources
    from vicinal.service.engine import About

__all__ = ["Limits", "create_app"]


def create_app(
    models: "Sources",
    *,
    store: str | PathLike[str] | None,
    read_token: str | None = None,
    write_token: str | None = None,
    loopback: bool = False,
    hosts: Sequence[str] = (),
    limits: Limits | None = None,
    about: "Mapping[str, About] | None" = None,
) -> "FastAPI":
    """Return an ASGI app that serves models.

    Parameters
    ----------
    models : path, list of paths, or mapping of id to path or fitted model
        Folders written by :func:`vicinal.save`; the id is the name of the folder.
    store : path or None
        SQLite file that stores what users teach; created if absent. Snapshots are written beside
        it. None: the models cannot be taught.
    read_token : str or None
        Token required for reading; None lets anyone read.
    write_token : str or None
        Token required for changes; None makes the service read-only.
    loopback : bool
        Whether the app is bound to the loopback interface. Anyone who reaches it may then make
        changes if there is no write token. Requests without a token must name a loopback host.
    hosts : sequence of str
        Further host names of a loopback app, for example that of a proxy in front of it.
    limits : Limits, optional
        Limits of requests and replies.
    about : mapping of id to About, optional
        Example texts, metrics of the last evaluation and the vocabulary of each model.

    Returns
    -------
    FastAPI

    Examples
    --------
    >>> import tempfile
    >>> from fastapi.testclient import TestClient
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0], [1.0]], [["low"], ["high"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     app = create_app({"levels": model}, store=f"{folder}/taught.sqlite")
    ...     with TestClient(app) as client:
    ...         reply = client.post("/v1/models/levels/predict", json={"rows": [{"values": [0.9]}]})
    >>> reply.json()["results"][0]["labels"]
    ['high']
    """
    try:
        from vicinal.service.app import build_app
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "starlette", "pydantic", "prometheus_client"):
            raise
        raise MissingExtraError(error.name, "serve") from None
    return build_app(
        models,
        store=store,
        read_token=read_token,
        write_token=write_token,
        loopback=loopback,
        hosts=hosts,
        limits=limits,
        about=about,
    )
