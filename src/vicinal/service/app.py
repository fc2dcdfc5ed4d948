"""The app: load the models, add the endpoints, error replies and the OpenAPI document."""

import hashlib
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from vicinal.errors import InvalidArgumentError
from vicinal.methods import NeighborEstimator, load
from vicinal.methods.pipeline import Model, estimator_of
from vicinal.persistence import read_header
from vicinal.service import annif_rest, api, label_studio, pages, served_model
from vicinal.service.access import Access, Declarations, Gate, error_body
from vicinal.service.engine import About, Engine
from vicinal.service.learner import Learner, Snapshots
from vicinal.service.limits import Limits, ServiceError, StoreError, check_narrower
from vicinal.service.served_model import ServedModel
from vicinal.service.store import EventStore
from vicinal.service.telemetry import ServiceMetrics

log = logging.getLogger("vicinal.service")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Source = Model | str | os.PathLike[str]
Sources = Mapping[str, Source] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str]


def named_sources(models: Sources) -> dict[str, Source]:
    """Return the models by id: as given, or the names of their files."""
    named: dict[str, Source] = {}
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        paths = [models] if isinstance(models, str | os.PathLike) else list(models)
        for path in paths:
            model_id = Path(path).resolve().name.removesuffix(".vicinal")
            if model_id in named:
                raise InvalidArgumentError("models", "different file names", f"{model_id} twice")
            named[model_id] = path
    if not named:
        raise InvalidArgumentError("models", "at least one model", "none")
    for model_id in named:
        if not _ID.fullmatch(model_id):
            raise InvalidArgumentError(
                "models", "ids of letters, digits, '.', '_' and '-'", repr(model_id)
            )
    return named


def serve_model(
    model_id: str, source: Source, store: EventStore | None, limits: Limits
) -> tuple[ServedModel, Learner | None]:
    """Load a model as it was when the service stopped: newest snapshot, then the later changes."""
    began = time.perf_counter()
    if store is None:
        return ServedModel(_model(source)), None
    identity = fingerprint(source)
    store.bind(model_id, identity)
    snapshots = Snapshots(store.path, model_id, limits.snapshots_kept)
    saved = snapshots.versions()  # before the events are read: the store has those of all these
    digests = store.verify(model_id, {0, *saved})
    newest = snapshots.newest(saved, digests)
    model, version, history = newest if newest is not None else (_model(source), 0, digests[0])
    learner = Learner(model_id, ServedModel(model, version, history), store, snapshots)
    replayed = learner.replay()
    log.info(
        "model loaded",
        extra={
            "model": model_id,
            "snapshot": version,
            "replayed": replayed,
            "seconds": round(time.perf_counter() - began, 3),
        },
    )
    return learner.served, learner


def load_engines(
    sources: Mapping[str, Source],
    store: EventStore | None,
    about: Mapping[str, About],
    access: Access,
    limits: Limits,
    metrics: ServiceMetrics,
) -> dict[str, Engine]:
    """Load the models, each with what answers its requests; if one cannot, close the store."""
    engines: dict[str, Engine] = {}
    try:
        for model_id, source in sources.items():
            served, learner = serve_model(model_id, source, store, limits)
            said = about.get(model_id, About())
            if not said.vocabulary and served.vocabulary is not None:
                said = replace(said, vocabulary=annif_rest.words_of(served.vocabulary))
            engines[model_id] = Engine(model_id, served, learner, access, limits, metrics, said)
    except BaseException:
        if store is not None:
            store.close()
        raise
    return engines


def _model(source: Source) -> Model:
    """Return a model, verified if it comes from a file."""
    return load(source, verify=True) if isinstance(source, str | os.PathLike) else source


def fingerprint(source: Source) -> str:
    """Return what identifies a trained model: the checksum of its file's manifest.

    For a model in memory: a digest of its method, its number of rows and its labels.
    """
    if isinstance(source, str | os.PathLike):
        return read_header(source).fingerprint
    estimator: NeighborEstimator = estimator_of(source)
    facts = (
        repr(estimator),
        *served_model.row_ids(estimator)[[0, -1]].tolist(),
        len(served_model.row_ids(estimator)),
        estimator.n_features_in_,
        *served_model.state_of(estimator).label_names,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()


class DescribedApp(FastAPI):
    """An app whose OpenAPI document states the tokens; set when the app is built."""

    access: Access
    declarations: Declarations

    def openapi(self) -> dict[str, Any]:
        """Return the document, made once."""
        if not self.openapi_schema:
            document = super().openapi()
            self.openapi_schema = _with_security(document, self.access, self.declarations)
        return self.openapi_schema


def _with_security(
    document: dict[str, Any], access: Access, declarations: Declarations
) -> dict[str, Any]:
    """State which token each operation needs; ``x-access`` is what its endpoint declares."""
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            need = declarations.need_of(method.upper(), path)
            operation["x-access"] = need
            reads = need == "read" and access.needs_read_token
            writes = need == "write" and access.writes == "token"
            if reads or writes:
                name = "read" if reads else "write"
                schemes[name] = {"type": "http", "scheme": "bearer"}
                operation["security"] = [{name: []}]
    return document


def add_error_handlers(app: FastAPI) -> None:
    """Add the handlers that turn exceptions into replies."""

    @app.exception_handler(ServiceError)
    async def service_error(request: Request, error: ServiceError) -> Response:
        headers = {"Retry-After": "1"} if error.status == 503 else None
        return _reply(request, error, headers)

    @app.exception_handler(StoreError)
    async def store_error(request: Request, error: StoreError) -> Response:
        return _reply(request, ServiceError(503, "store-damaged", str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _reply(request, _first_problem(error))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        code = {404: "not-found", 405: "wrong-method"}.get(error.status_code, "bad-request")
        refused = ServiceError(error.status_code, code, str(error.detail))
        return _reply(request, refused, error.headers)


def _reply(
    request: Request, error: ServiceError, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the reply to a request that failed."""
    body = error_body(error, request.state.request_id)
    return Response(body, error.status, headers=headers, media_type="application/json")


def _first_problem(error: RequestValidationError) -> ServiceError:
    """Return the first problem of a request, and how many more there are."""
    problems = error.errors()
    first = problems[0]
    if first["type"] == "json_invalid":
        return ServiceError(400, "not-json", "the body is not JSON")
    loc = [str(part) for part in first["loc"] if part != "body"]
    if loc[:1] == ["rows"]:
        loc[2:3] = []  # the form of the row, which the client did not write
    if first["type"] == "missing":
        loc = loc[:-1]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    place = ".".join(loc)[:200] or "body"
    return ServiceError(422, "invalid-value", f"{place}: {_what_is_wrong(first)}{more}")


def _what_is_wrong(problem: dict[str, Any]) -> str:
    """Return one problem of a request in the words of the other errors."""
    *place, field = problem["loc"]
    if problem["type"] == "missing":
        is_row = field == "text" and "rows" in place
        return f"expected a field {ROW_FORMS if is_row else repr(field)}, got none"
    if problem["type"] == "extra_forbidden":
        return "expected no field of this name (/docs lists the fields)"
    said = str(problem["msg"])[:300]
    for theirs, ours in MESSAGES.items():
        said = said.replace(theirs, ours)
    return said


ROW_FORMS = "'text', 'features' or 'values'"
MESSAGES = {
    "Input should be": "expected",
    "List should": "expected to",
    "expected greater": "expected a number greater",
    "expected less": "expected a number less",
}
"""Words of pydantic, and those of the other errors; one after the other."""


ROUTERS = (
    api.router,
    pages.router,
    annif_rest.router,
    label_studio.router,
    api.operations,
)


def build_app(
    models: Sources,
    *,
    store: str | PathLike[str] | None,
    read_token: str | None = None,
    write_token: str | None = None,
    loopback: bool = False,
    hosts: Sequence[str] = (),
    limits: Limits | None = None,
    about: Mapping[str, About] | None = None,
) -> FastAPI:
    """Return the app; see :func:`vicinal.service.create_app`."""
    limits = Limits() if limits is None else limits
    check_narrower(limits)
    access = Access(read_token, write_token, loopback=loopback, hosts=hosts)
    declarations = Declarations(route for router in ROUTERS for route in router.routes)
    metrics = ServiceMetrics()
    sources = named_sources(models)
    opened = None if store is None else EventStore(Path(store))

    engines = load_engines(sources, opened, about or {}, access, limits, metrics)
    app = DescribedApp(
        title="vicinal",
        summary="Multi-label predictions from neighbours, taught while they are served",
        version=version("vicinal"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan(engines, opened),
    )
    app.access, app.declarations = access, declarations
    app.state.engines = engines
    app.state.metrics = metrics
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(
        Gate, access=access, declarations=declarations, limits=limits, metrics=metrics
    )
    add_error_handlers(app)
    return app


def _lifespan(
    engines: Mapping[str, Engine], store: EventStore | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return what runs when the app starts and ends: at the end all is finished and saved."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for engine in engines.values():
            engine.begin()
        log.info("ready", extra={"models": list(engines)})
        yield
        for engine in engines.values():
            await engine.close()
        if store is not None:
            store.close()
        log.info("stopped")

    return lifespan
