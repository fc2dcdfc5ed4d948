"""The JSON interface: the endpoints under ``/v1/models``, liveness, readiness and metrics."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from vicinal.service.access import needs
from vicinal.service.engine import Engine, Predicted, to_json
from vicinal.service.learner import Outcome
from vicinal.service.limits import ServiceError, bad_value
from vicinal.service.request_rows import Row
from vicinal.service.schemas import (
    ChangeReply,
    ErrorReply,
    ExampleList,
    ExplainReply,
    ExplainRequest,
    ForgetRequest,
    Key,
    LabelList,
    LearnRequest,
    ModelFacts,
    ModelList,
    NeighborsReply,
    NeighborsRequest,
    PredictReply,
    PredictRequest,
    SnapshotReply,
    TaughtList,
)
from vicinal.service.store import Change

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": text}
    for status, text in {
        400: "The body is not JSON",
        401: "A token is needed",
        403: "The token does not permit this",
        404: "There is no such model or row",
        408: "The body arrived too slowly",
        413: "The body is too large",
        415: "The body is of another type",
        422: "A value is not acceptable",
        503: "Temporarily impossible; nothing was done unless the message says so",
        504: "No result within the time limit",
    }.items()
}
CHANGE_ERRORS: dict[int | str, dict[str, Any]] = ERRORS | {
    409: {"model": ErrorReply, "description": "The key or the model does not allow this change"},
    507: {"model": ErrorReply, "description": "The disk is full; nothing was changed"},
}
ModelId = Annotated[str, Path(max_length=100, description="Id of a served model")]
KeyHeader = Annotated[
    Key | None, Header(alias="Idempotency-Key", description="Repeats of a request are harmless")
]


async def known_query(request: Request) -> None:
    """Refuse query parameters that the endpoint does not have: a misspelt one is not ignored."""
    if not request.scope["query_string"]:
        return
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise bad_value("query", f"only {', '.join(sorted(known)) or 'nothing'}", unknown[:50])


INLINE_BYTES = 2**16
"""Larger bodies are decoded beside the event loop."""
_decoding = ThreadPoolExecutor(1, thread_name_prefix="decode")
Content = TypeVar("Content")


async def read_body(request: Request, decode: Callable[[bytes], Content]) -> Content:
    """Return what a body contains; a large one is decoded in a thread."""
    body = await request.body()
    if len(body) <= INLINE_BYTES:
        return decode(body)
    return await asyncio.get_running_loop().run_in_executor(_decoding, decode, body)


class LargeBodyRequest(Request):
    """A request whose body does not keep others waiting while it is decoded."""

    async def json(self) -> Any:
        """Return what the body contains."""
        if len(await self.body()) <= INLINE_BYTES:
            return await super().json()
        if not hasattr(self, "_json"):
            self._json = await read_body(self, decoded)
        return self._json


def decoded(body: bytes) -> Any:
    """Return what JSON contains, while other threads have their turns.

    The decoder of the standard library is one call of C code, which lets no other thread run. It
    does so whenever it calls a Python function, so numbers and objects are made by such functions.
    """
    return json.loads(body, object_hook=_object, parse_float=_float, parse_int=_int)


def _object(found: dict[str, Any]) -> dict[str, Any]:
    return found


def _float(digits: str) -> float:
    return float(digits)


def _int(digits: str) -> int:
    return int(digits)


class LargeBodyRoute(APIRoute):
    """An endpoint that may get large bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await answer(LargeBodyRequest(request.scope, request.receive))

        return handle


router = APIRouter(
    prefix="/v1/models",
    tags=["models"],
    dependencies=[Depends(known_query)],
    route_class=LargeBodyRoute,
)


def engines(request: Request) -> dict[str, Engine]:
    """Return the models served, by id."""
    served: dict[str, Engine] = request.app.state.engines
    return served


def engine_of(request: Request, model_id: str) -> Engine:
    """Return one of the models served."""
    engine = engines(request).get(model_id)
    if engine is None:
        known = ", ".join(engines(request))
        raise ServiceError(404, "unknown-model", f"no model has this id; there are: {known}")
    return engine


def as_json(content: object, status: int = 200) -> Response:
    """Return a small JSON reply."""
    return sent(to_json(content), status)


def sent(body: bytes, status: int = 200) -> Response:
    """Return a JSON reply that was written before."""
    return Response(body, status, media_type="application/json")


async def while_connected(request: Request, work: Coroutine[Any, Any, bytes]) -> Response:
    """Return the reply that long work gives; the work is stopped if its client leaves."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ServiceError(400, "disconnected", "the client closed the connection")
        return sent(await working)
    finally:
        leaving.cancel()
        working.cancel()


async def _left(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def prediction_reply(
    request: Request,
    engine: Engine,
    rows: Sequence[Row],
    top: int,
    show: Callable[[Predicted], object],
    with_label_scores: bool = False,
) -> Response:
    """Return the reply that shows predictions; a large one is stopped if its client leaves."""
    work = engine.predict(rows, top, show, with_label_scores)
    if engine.is_large(rows, top):
        return await while_connected(request, work)
    return sent(await work)


def plain(rows: Iterable[BaseModel]) -> tuple[Row, ...]:
    """Return the rows of a request as plain dictionaries."""
    return tuple(dict(row) for row in rows)


# Routes are tried in order: the one that most requests are for comes first.
@router.post("/{model_id}/predict", response_model=PredictReply, responses=ERRORS)
@needs("read")
async def predict(request: Request, model_id: ModelId, body: PredictRequest) -> Response:
    """Predict the labels of rows, with the scores of the `top` best labels."""
    engine = engine_of(request, model_id)
    rows = plain(body.rows)
    if body.explain:
        return await while_connected(request, engine.predict_and_explain(rows, body.top))
    return await prediction_reply(request, engine, rows, body.top, engine.show)


@router.get("", response_model=ModelList, responses=ERRORS)
@needs("read")
async def list_models(request: Request) -> Response:
    """List the models."""
    return as_json({"models": [await engine.facts() for engine in engines(request).values()]})


@router.get("/{model_id}", response_model=ModelFacts, responses=ERRORS)
@needs("read")
async def describe_model(request: Request, model_id: ModelId) -> Response:
    """Describe one model: method, rows, labels, version, metrics of the last evaluation."""
    return as_json(await engine_of(request, model_id).facts())


@router.get("/{model_id}/labels", response_model=LabelList, responses=ERRORS)
@needs("read")
async def list_labels(
    request: Request,
    model_id: ModelId,
    contains: Annotated[str, Query(max_length=200, description="Part of the name")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """List labels with the number of rows that have them, in the model's order."""
    return sent(await engine_of(request, model_id).labels(contains, offset, limit))


@router.get("/{model_id}/examples", response_model=ExampleList, responses=ERRORS)
@needs("read")
async def list_examples(request: Request, model_id: ModelId) -> Response:
    """List texts to try."""
    return as_json({"examples": await engine_of(request, model_id).examples()})


@router.get("/{model_id}/taught", response_model=TaughtList, responses=ERRORS)
@needs("read")
async def list_taught(
    request: Request, model_id: ModelId, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> Response:
    """List the most recent changes, newest first; fewer than `limit` if they are large."""
    return sent(await engine_of(request, model_id).taught(limit))


@router.post("/{model_id}/explain", response_model=ExplainReply, responses=ERRORS)
@needs("read")
async def explain(request: Request, model_id: ModelId, body: ExplainRequest) -> Response:
    """Explain labels of rows: the parts that sum to each score."""
    work = engine_of(request, model_id).explain(
        plain(body.rows), body.labels, body.top, body.without
    )
    return await while_connected(request, work)


@router.post("/{model_id}/neighbors", response_model=NeighborsReply, responses=ERRORS)
@needs("read")
async def neighbors(request: Request, model_id: ModelId, body: NeighborsRequest) -> Response:
    """Find the nearest training rows, with their labels and the features they share."""
    work = engine_of(request, model_id).neighbors(plain(body.rows), body.k)
    return await while_connected(request, work)


@router.post("/{model_id}/learn", response_model=ChangeReply, responses=CHANGE_ERRORS)
@needs("write")
async def learn(
    request: Request, model_id: ModelId, body: LearnRequest, idempotency_key: KeyHeader = None
) -> Response:
    """Learn rows; when the reply arrives, they are on disk and the next prediction uses them."""
    key = body.idempotency_key or idempotency_key
    outcomes = await engine_of(request, model_id).change(Change("learn", plain(body.rows), key))
    return changed(outcomes[0])


@router.post("/{model_id}/forget", response_model=ChangeReply, responses=CHANGE_ERRORS)
@needs("write")
async def forget(
    request: Request, model_id: ModelId, body: ForgetRequest, idempotency_key: KeyHeader = None
) -> Response:
    """Forget rows by id."""
    key = body.idempotency_key or idempotency_key
    rows = tuple(sorted(set(body.row_ids)))
    outcomes = await engine_of(request, model_id).change(Change("forget", rows, key))
    return changed(outcomes[0])


def changed(outcome: Outcome) -> Response:
    """Return the reply to a change."""
    return as_json(
        {
            "row_ids": list(outcome.row_ids),
            "version": outcome.version,
            "repeated": outcome.repeated,
        }
    )


@router.post("/{model_id}/snapshot", response_model=SnapshotReply, responses=CHANGE_ERRORS)
@needs("write")
async def snapshot(request: Request, model_id: ModelId) -> Response:
    """Write a snapshot now."""
    path, version = await engine_of(request, model_id).snapshot()
    return as_json({"path": path, "version": version})


operations = APIRouter(tags=["operations"])


@operations.get("/livez")
@needs("open")
async def livez() -> dict[str, str]:
    """Tell that the process answers."""
    return {"status": "alive"}


@operations.get("/readyz")
@needs("open")
async def readyz() -> dict[str, str]:
    """Tell that the models are loaded."""
    return {"status": "ready"}


@operations.get("/metrics", response_class=Response, responses=ERRORS)
@needs("read")
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus."""
    found = generate_latest(request.app.state.metrics.registry)
    return Response(found, media_type=CONTENT_TYPE_LATEST)
