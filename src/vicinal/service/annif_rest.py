"""The dialect of Annif's REST interface, so that Annif's ``http`` backend works unmodified.

A label of the model is a subject, and its name is the URI; the vocabulary given to the service adds
labels in words and notations. Scores outside (0, 1] are clipped, because Annif accepts no others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from vicinal.datasets import vocabulary
from vicinal.service.access import needs
from vicinal.service.api import (
    CHANGE_ERRORS,
    ERRORS,
    LargeBodyRoute,
    ModelId,
    as_json,
    engine_of,
    engines,
    known_query,
    prediction_reply,
    read_body,
)
from vicinal.service.engine import Engine, Predicted
from vicinal.service.limits import ServiceError, bad_value
from vicinal.service.schemas import FIRST_PROBLEM, LIMITS, Label, Labels, Text
from vicinal.service.served_model import Prediction
from vicinal.service.store import Change


def read_vocabulary(path: Path) -> dict[str, tuple[str, str | None]]:
    r"""Return label name → (label in words, notation) from a vocabulary of any format.

    A ``.tsv`` file has lines of ``<URI>``, label and notation.
    """
    known = vocabulary.read_vocabulary(path)
    notations: dict[str, str] = {}
    if path.suffix.lower() == ".tsv":
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        cells = [line.split("\t") for line in lines if line.startswith("<")]
        notations = {uri.strip("<>"): rest[0] for uri, _, *rest in cells if rest and rest[0]}
    return words_of(known, notations)


def words_of(
    known: vocabulary.Vocabulary, notations: Mapping[str, str] | None = None
) -> dict[str, tuple[str, str | None]]:
    """Return label name → (label in words, notation) of a vocabulary."""
    every = dict.fromkeys(label for names in known.names.values() for label in names)
    return {label: (known.name(label) or label, (notations or {}).get(label)) for label in every}


router = APIRouter(
    prefix="/v1/projects",
    tags=["annif"],
    dependencies=[Depends(known_query)],
    route_class=LargeBodyRoute,
)
BATCH_DOCUMENTS = 32
"""Most documents of one batch, as in Annif."""

Limit = Annotated[int, Field(ge=1, le=LIMITS.top)]
Threshold = Annotated[float, Field(ge=0.0, le=1.0)]


class Subject(BaseModel):
    """A subject by its URI; Annif's clients may send its label too."""

    uri: Label
    label: str | None = None


class LearnDocument(BaseModel):
    """A document with its subjects."""

    text: Text
    subjects: Annotated[list[Subject], FIRST_PROBLEM, Field(max_length=LIMITS.labels)]
    metadata: dict[str, Any] = {}


class BatchDocument(BaseModel):
    """A document of a batch."""

    text: Text
    document_id: Annotated[str, Field(max_length=1000)] | None = None
    metadata: dict[str, Any] = {}


class BatchRequest(BaseModel):
    """Documents to suggest subjects for."""

    documents: Annotated[
        list[BatchDocument], FIRST_PROBLEM, Field(min_length=1, max_length=BATCH_DOCUMENTS)
    ]


class Suggestion(BaseModel):
    """A suggested subject."""

    uri: str
    label: str
    notation: str | None
    score: float


class SuggestReply(BaseModel):
    """Suggestions for one document, best first."""

    results: list[Suggestion]


class BatchReply(SuggestReply):
    """Suggestions for one document of a batch."""

    document_id: str | None


class AnnifProject(BaseModel):
    """A model, described as Annif describes a project."""

    model_config = ConfigDict(extra="allow")

    project_id: str
    name: str
    language: str
    backend: dict[str, str]
    is_trained: bool
    modification_time: str


class ProjectList(BaseModel):
    """Every project."""

    projects: list[AnnifProject]


FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["text"],
                    "properties": {
                        "text": {"type": "string", "maxLength": LIMITS.text_characters},
                        "limit": {"type": "integer", "minimum": 1, "maximum": LIMITS.top},
                        "threshold": {"type": "number", "minimum": 0, "maximum": 1},
                        "language": {"type": "string"},
                    },
                }
            }
        },
    }
}


@router.get("", response_model=ProjectList, responses=ERRORS)
@needs("read")
async def list_projects(request: Request) -> Response:
    """List the models as projects."""
    return as_json({"projects": [_project(engine) for engine in engines(request).values()]})


@router.get("/{model_id}", response_model=AnnifProject, responses=ERRORS)
@needs("read")
async def show_project(request: Request, model_id: ModelId) -> Response:
    """Describe a model as a project."""
    return as_json(_project(engine_of(request, model_id)))


@router.post(
    "/{model_id}/suggest", response_model=SuggestReply, responses=ERRORS, openapi_extra=FORM
)
@needs("read")
async def suggest(request: Request, model_id: ModelId) -> Response:
    """Suggest subjects for the text of a form."""
    engine = engine_of(request, model_id)
    form = await _form(request)
    if "text" not in form:
        raise bad_value("text", "a field of the form", "none")
    limit = _number(form, "limit", 10, 1, LIMITS.top)
    threshold = _number(form, "threshold", 0.0, 0.0, 1.0)

    def show(predicted: Predicted) -> object:
        return {"results": _suggestions(engine, predicted.rows[0], threshold)}

    return await prediction_reply(request, engine, [{"text": form["text"]}], int(limit), show)


@router.post("/{model_id}/suggest-batch", response_model=list[BatchReply], responses=ERRORS)
@needs("read")
async def suggest_batch(
    request: Request,
    model_id: ModelId,
    body: BatchRequest,
    limit: Annotated[Limit, Query()] = 10,
    threshold: Annotated[Threshold, Query()] = 0.0,
    language: Annotated[str, Query(max_length=20, description="Ignored")] = "",
) -> Response:
    """Suggest subjects for up to 32 documents."""
    engine = engine_of(request, model_id)
    rows = [{"text": document.text} for document in body.documents]

    def show(predicted: Predicted) -> object:
        return [
            {
                "results": _suggestions(engine, prediction, threshold),
                "document_id": document.document_id,
            }
            for prediction, document in zip(predicted.rows, body.documents, strict=True)
        ]

    return await prediction_reply(request, engine, rows, limit, show)


@router.post("/{model_id}/learn", status_code=204, responses=CHANGE_ERRORS)
@needs("write")
async def learn(
    request: Request,
    model_id: ModelId,
    body: Annotated[list[LearnDocument], FIRST_PROBLEM, Field(max_length=LIMITS.rows)],
) -> Response:
    """Learn documents with their subjects."""
    engine = engine_of(request, model_id)
    rows = tuple({"text": document.text, "labels": _uris(document.subjects)} for document in body)
    if rows:
        await engine.change(Change("learn", rows))
    return Response(status_code=204)


def _uris(subjects: Sequence[Subject]) -> Labels:
    """Return each URI once, in order."""
    return list(dict.fromkeys(subject.uri for subject in subjects))


def _suggestions(engine: Engine, prediction: Prediction, threshold: float) -> list[dict[str, Any]]:
    """Return the best labels as Annif's suggestions."""
    known = engine.about.vocabulary
    found = []
    for uri, score in prediction.scores:
        clipped = min(score, 1.0)
        if clipped > 0.0 and clipped >= threshold:
            label, notation = known.get(uri, (uri, None))
            found.append({"uri": uri, "label": label, "notation": notation, "score": clipped})
    return found


def _project(engine: Engine) -> dict[str, Any]:
    return {
        "project_id": engine.id,
        "name": engine.id,
        "language": "und",
        "backend": {"backend_id": "vicinal"},
        "is_trained": True,
        "modification_time": engine.loaded_at.isoformat(),
    }


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form; of several fields with one name, the last."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(415, "not-a-form", "expected application/x-www-form-urlencoded")
    try:
        return await read_body(request, _fields)
    except ValueError:
        raise ServiceError(400, "not-a-form", "the body is not a form in UTF-8") from None


def _fields(body: bytes) -> dict[str, str]:
    text = body.decode("ascii")
    return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100))


def _number(form: dict[str, str], name: str, default: float, low: float, high: float) -> float:
    """Return a number of a form, within its bounds."""
    try:
        value = float(form.get(name) or default)
    except ValueError:
        raise bad_value(name, "a number", form[name][:50]) from None
    if not low <= value <= high:
        raise bad_value(name, f"a number from {low:g} to {high:g}", form[name][:50])
    return value
