"""The endpoints that an operator's programs call: liveness, readiness, metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from vicinal.service.api import ERRORS

router = APIRouter(tags=["operations"])


@router.get("/livez")
async def livez() -> dict[str, str]:
    """Tell that the process answers."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz() -> dict[str, str]:
    """Tell that the models are loaded."""
    return {"status": "ready"}


@router.get("/metrics", response_class=Response, responses=ERRORS)
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus."""
    found = generate_latest(request.app.state.metrics.registry)
    return Response(found, media_type=CONTENT_TYPE_LATEST)
