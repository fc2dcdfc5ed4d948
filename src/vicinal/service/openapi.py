"""The OpenAPI document, with the tokens that each endpoint needs."""

from typing import Any

from fastapi import FastAPI

from vicinal.service.access import Access, need_of


class DescribedApp(FastAPI):
    """An app whose OpenAPI document states the tokens; `access` is set when the app is built."""

    access: Access

    def openapi(self) -> dict[str, Any]:
        """Return the document, made once."""
        if not self.openapi_schema:
            self.openapi_schema = _with_security(super().openapi(), self.access)
        return self.openapi_schema


def _with_security(document: dict[str, Any], access: Access) -> dict[str, Any]:
    """State which token each operation needs."""
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            need = need_of(method.upper(), path)
            reads = need == "read" and access.needs_read_token
            writes = need == "write" and access.writes == "token"
            if reads or writes:
                name = "read" if reads else "write"
                schemes[name] = {"type": "http", "scheme": "bearer"}
                operation["security"] = [{name: []}]
    return document
