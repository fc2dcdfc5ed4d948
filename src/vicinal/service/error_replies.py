"""Every error as a reply of the same form, without a stack trace."""

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from vicinal.service.errors import ServiceError, StoreError
from vicinal.service.gate import error_body


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
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:200] or "body"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ServiceError(422, "invalid-value", f"{place}: {first['msg'][:300]}{more}")
