"""The app: everything of the service put together."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from fastapi import FastAPI

from vicinal.service import annif_dialect, api, label_studio_dialect, operations, pages
from vicinal.service.about import About
from vicinal.service.access import Access
from vicinal.service.engine import Engine
from vicinal.service.error_replies import add_error_handlers
from vicinal.service.gate import Gate
from vicinal.service.limits import Limits, check_narrower
from vicinal.service.loading import Source, Sources, named_sources, serve_model
from vicinal.service.openapi import DescribedApp
from vicinal.service.store import Store
from vicinal.service.telemetry import Metrics

log = logging.getLogger("vicinal.service")
ROUTERS = (
    api.router,
    pages.router,
    annif_dialect.router,
    label_studio_dialect.router,
    operations.router,
)


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
    check_narrower(limits)
    access = Access(read_token, write_token, loopback_writes=loopback_writes)
    metrics = Metrics()
    sources = named_sources(models)
    opened = None if store is None else Store(Path(store))

    def engine(model_id: str, source: Source) -> Engine:
        served, learner = serve_model(model_id, source, opened, limits)
        said = (about or {}).get(model_id, About())
        return Engine(model_id, served, learner, access, limits, metrics, said)

    try:
        engines = {model_id: engine(model_id, source) for model_id, source in sources.items()}
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    app = DescribedApp(
        title="vicinal",
        summary="Multi-label predictions from neighbours, taught while they are served",
        version=version("vicinal"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan(engines, opened),
    )
    app.access = access
    app.state.engines = engines
    app.state.metrics = metrics
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Gate, access=access, limits=limits, metrics=metrics)
    add_error_handlers(app)
    return app


def _lifespan(
    engines: Mapping[str, Engine], store: Store | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return what runs when the app starts and ends: at the end all is finished and saved."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for engine in engines.values():
            engine.save_if_due()  # what a long replay has applied is not replayed again
        log.info("ready", extra={"models": list(engines)})
        yield
        for engine in engines.values():
            await engine.close()
        if store is not None:
            store.close()
        log.info("stopped")

    return lifespan
