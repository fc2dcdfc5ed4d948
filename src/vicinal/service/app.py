"""The app: everything of the service put together."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from vicinal.service import annif_dialect, api, label_studio_dialect, pages
from vicinal.service.access import Access
from vicinal.service.engine import About, Engine
from vicinal.service.errors import ServiceError, StoreError
from vicinal.service.gate import Gate, error_body
from vicinal.service.limits import Limits
from vicinal.service.loading import Sources, named_sources, serve_model
from vicinal.service.openapi import DescribedApp
from vicinal.service.store import Store
from vicinal.service.telemetry import Metrics

log = logging.getLogger("vicinal.service")
ROUTERS = (api.router, pages.router, annif_dialect.router, label_studio_dialect.router)


def build_app(
    models: Sources,
    *,
    store: str | PathLike[str] | None,
    read_token: str | None = None,
    write_token: str | None = None,
    loopback_writes: bool = False,
    limits: Limits | None = None,
    about: Mapping[str, About] | None = None,
) -> FastAPI:
    """Return the app; see :func:`vicinal.service.create_app`."""
    limits = Limits() if limits is None else limits
    access = Access(read_token, write_token, loopback_writes=loopback_writes)
    metrics = Metrics()
    sources = named_sources(models)
    kept = None if store is None else Store(Path(store))
    engines = {}
    try:
        for model_id, source in sources.items():
            served, learner = serve_model(model_id, source, kept, limits)
            told = (about or {}).get(model_id, About())
            engines[model_id] = Engine(model_id, served, learner, access, limits, metrics, told)
    except BaseException:
        if kept is not None:
            kept.close()
        raise

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        log.info("ready", extra={"models": list(engines)})
        yield
        for engine in engines.values():
            await engine.close()
        if kept is not None:
            kept.close()
        log.info("stopped")

    app = DescribedApp(
        title="vicinal",
        summary="Multi-label predictions from neighbours, taught while they are served",
        version=version("vicinal"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.access = access
    app.state.engines = engines
    app.state.metrics = metrics
    for router in ROUTERS:
        app.include_router(router)
    _add_operations(app)
    app.add_middleware(Gate, access=access, limits=limits, metrics=metrics)
    _add_error_handlers(app)
    return app


def _add_operations(app: FastAPI) -> None:
    """Add the endpoints that an operator's programs ask."""

    @app.get("/livez", tags=["operations"])
    async def livez() -> dict[str, str]:
        """Tell that the process answers."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["operations"])
    async def readyz() -> dict[str, str]:
        """Tell that the models are loaded."""
        return {"status": "ready"}

    @app.get("/metrics", tags=["operations"], response_class=Response, responses=api.ERRORS)
    async def prometheus(request: Request) -> Response:
        """Metrics for Prometheus."""
        found = generate_latest(request.app.state.metrics.registry)
        return Response(found, media_type=CONTENT_TYPE_LATEST)


def _add_error_handlers(app: FastAPI) -> None:
    """Give every error the same form, without a stack trace."""

    def reply(request: Request, error: ServiceError, headers: Any = None) -> Response:
        body = error_body(error, request.state.request_id)
        return Response(body, error.status, headers=headers, media_type="application/json")

    @app.exception_handler(ServiceError)
    async def service_error(request: Request, error: ServiceError) -> Response:
        headers = {"Retry-After": "1"} if error.status == 503 else None
        return reply(request, error, headers)

    @app.exception_handler(StoreError)
    async def store_error(request: Request, error: StoreError) -> Response:
        return reply(request, ServiceError(503, "store-damaged", str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return reply(request, _first_problem(error))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        code = {404: "not-found", 405: "wrong-method"}.get(error.status_code, "bad-request")
        refused = ServiceError(error.status_code, code, str(error.detail))
        return reply(request, refused, error.headers)


def _first_problem(error: RequestValidationError) -> ServiceError:
    """Return the first thing wrong with a request, and how many there are."""
    problems = error.errors()
    first = problems[0]
    if first["type"] == "json_invalid":
        return ServiceError(400, "not-json", "the body is not JSON")
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:200] or "body"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ServiceError(422, "invalid-value", f"{place}: {first['msg'][:300]}{more}")
