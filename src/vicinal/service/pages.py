"""The web pages: ``/`` to try and teach a model, ``/docs`` as reference for writing clients.

Plain files of the package, served from memory: no build step and no external assets.
"""

from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from vicinal.service.access import needs
from vicinal.service.limits import ServiceError

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str


def read_assets() -> dict[str, Asset]:
    """Return the files of the page by name."""
    found = {}
    for file in files("vicinal.service").joinpath("static").iterdir():
        ending = file.name.rpartition(".")[2]
        if ending in TYPES:
            found[file.name] = Asset(file.read_bytes(), TYPES[ending])
    return found


router = APIRouter(include_in_schema=False)
ASSETS = read_assets()


def _asset(name: str) -> Response:
    asset = ASSETS.get(name)
    if asset is None:
        raise ServiceError(404, "not-found", "there is no such file")
    return Response(
        asset.content, media_type=asset.media_type, headers={"Cache-Control": "no-cache"}
    )


@router.get("/")
@needs("open")
async def page() -> Response:
    """Return the page."""
    return _asset("index.html")


@router.get("/docs")
@needs("open")
async def docs() -> Response:
    """Return the page that shows the OpenAPI document."""
    return _asset("docs.html")


@router.get("/favicon.ico")
@needs("open")
async def icon() -> Response:
    """Return the icon."""
    return _asset("icon.svg")


@router.get("/static/{name}")
@needs("open")
async def static(name: str) -> Response:
    """Return a file of the pages."""
    return _asset(name)


@router.get("/openapi.json")
@needs("open")
async def openapi_document(request: Request) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(request.app.openapi())
