"""The dialect of Label Studio's machine-learning backends.

Give Label Studio the address ``http://HOST/label-studio`` (the first model) or
``http://HOST/label-studio/MODEL``. The service learns each annotation as soon as it is made: the
next prediction reflects it, and "start training" has nothing left to do.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from vicinal.service.api import (
    CHANGE_ERRORS,
    ERRORS,
    ModelId,
    as_json,
    engine_of,
    engines,
    known_query,
)
from vicinal.service.engine import Engine
from vicinal.service.errors import bad_value
from vicinal.service.events import Change
from vicinal.service.label_config import LabelConfig, read_label_config
from vicinal.service.schemas import LIMITS

router = APIRouter(
    prefix="/label-studio", tags=["label-studio"], dependencies=[Depends(known_query)]
)
Config = Annotated[str, Field(max_length=100_000)]
Data = dict[str, Any]
Id = Annotated[int, Field(strict=True)] | Annotated[str, Field(max_length=200)]
"""An id of Label Studio; not a boolean, which Python takes for a number."""


class _Loose(BaseModel):
    """A body whose other fields are ignored."""

    model_config = ConfigDict(extra="allow")


class SetupRequest(_Loose):
    """What Label Studio sends when a model is connected; `schema` is the labeling interface."""

    project: Id | None = None
    schema_: Annotated[Config, Field(alias="schema")] = ""


class Task(_Loose):
    """A task: its fields, of which the labeling interface names the text."""

    id: Id | None = None
    data: Data = {}


class PredictRequest(_Loose):
    """Tasks to predict."""

    tasks: Annotated[list[Task], Field(max_length=LIMITS.rows)]
    label_config: Config | None = None
    project: Id | None = None


class Annotation(_Loose):
    """An annotation: its id, what the annotator chose, and whether the task was skipped."""

    id: Id
    result: list[dict[str, Any]] | None = None
    was_cancelled: Annotated[bool, Field(strict=True)] | None = None


class Project(_Loose):
    """The project an event belongs to."""

    id: Id | None = None
    label_config: Config | None = None


class Webhook(_Loose):
    """An event."""

    action: str
    project: Project | None = None
    task: Task | None = None
    annotation: Annotation | None = None
    annotations: list[Annotation] | None = None


class VersionReply(BaseModel):
    """The version of the model."""

    model_config = ConfigDict(protected_namespaces=())

    model_version: str


class HealthReply(BaseModel):
    """The service is up."""

    status: Literal["UP"]


class PredictReply(BaseModel):
    """One prediction per task."""

    results: list[dict[str, Any]]


def _engine(request: Request, model_id: str | None) -> Engine:
    """Return the model of the address, or the first."""
    if model_id is None:
        return next(iter(engines(request).values()))
    return engine_of(request, model_id)


@router.get("/health", response_model=HealthReply, responses=ERRORS)
async def health() -> Response:
    """Tell that the service is up."""
    return as_json({"status": "UP"})


@router.get("/{model_id}/health", response_model=HealthReply, responses=ERRORS)
async def model_health(request: Request, model_id: ModelId) -> Response:
    """Tell that a model is served."""
    engine_of(request, model_id)
    return as_json({"status": "UP"})


@router.post("/setup", response_model=VersionReply, responses=ERRORS)
@router.post("/{model_id}/setup", response_model=VersionReply, responses=ERRORS)
async def setup(request: Request, body: SetupRequest, model_id: ModelId | None = None) -> Response:
    """Check that the labeling interface has a text and choices; return the model's version."""
    engine = _engine(request, model_id)
    if body.schema_:
        read_label_config(body.schema_)
    return as_json({"model_version": await _version(engine)})


@router.post("/predict", response_model=PredictReply, responses=ERRORS)
@router.post("/{model_id}/predict", response_model=PredictReply, responses=ERRORS)
async def predict(
    request: Request, body: PredictRequest, model_id: ModelId | None = None
) -> Response:
    """Predict the choices of tasks."""
    engine = _engine(request, model_id)
    config = read_label_config(body.label_config or "")
    if not body.tasks:
        return as_json({"results": []})
    rows = [{"text": _text(task, config)} for task in body.tasks]
    answers, version = await engine.predict(rows, engine.most_scores)
    results = []
    for answer in answers:
        scores = dict(answer.scores)
        choices = [label for label in answer.labels if config.allows(label)]
        chosen = [scores.get(label, 0.0) for label in choices]
        results.append(
            {
                "result": [config.region(choices)] if choices else [],
                "score": sum(chosen) / len(chosen) if chosen else 0.0,
                "model_version": f"{engine.id}-{version}",
            }
        )
    return as_json({"results": results})


@router.post("/webhook", status_code=201, responses=CHANGE_ERRORS)
@router.post("/{model_id}/webhook", status_code=201, responses=CHANGE_ERRORS)
async def webhook(request: Request, body: Webhook, model_id: ModelId | None = None) -> Response:
    """Learn a new annotation, replace a changed one, forget a deleted one."""
    engine = _engine(request, model_id)
    if body.action in ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED"):
        deleted = body.annotations or ([body.annotation] if body.annotation else [])
        for annotation in deleted:
            await _replace(engine, _origin(body, annotation), None)
    elif body.action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
        if body.annotation is None or body.task is None:
            raise bad_value("annotation, task", f"both, for {body.action}", "one or none")
        await _replace(
            engine, _origin(body, body.annotation), _row(body, body.annotation, body.task)
        )
    return as_json({"status": "ok", "model_version": await _version(engine)}, 201)


def _row(body: Webhook, annotation: Annotation, task: Task) -> dict[str, Any] | None:
    """Return the row that an annotation teaches; None for a skipped task, which teaches nothing."""
    if annotation.was_cancelled:
        return None
    config = read_label_config((body.project and body.project.label_config) or "")
    return {"text": _text(task, config), "labels": config.choices(annotation.result or [])}


async def _replace(engine: Engine, origin: str, row: dict[str, Any] | None) -> None:
    """Replace what was learned from an annotation by a row, or by nothing, in one transaction."""
    changes = []
    if row is not None:
        changes.append(Change("learn", (row,), origin=origin))
    older = await engine.alive_from(origin)
    if older:
        changes.append(Change("forget", tuple(older), origin=origin))
    if changes:
        await engine.change(*changes)


def _origin(body: Webhook, annotation: Annotation) -> str:
    project = body.project.id if body.project is not None else ""
    return f"label-studio:{project}:{annotation.id}"


def _text(task: Task, config: LabelConfig) -> str:
    """Return the text of a task."""
    value = task.data.get(config.field)
    if not isinstance(value, str):
        raise bad_value(f"data.{config.field}", "a text", type(value).__name__)
    return value


async def _version(engine: Engine) -> str:
    facts = await engine.facts()
    return f"{engine.id}-{facts['version']}"
