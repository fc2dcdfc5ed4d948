"""schemathesis over the OpenAPI document: every reply is one the document promises."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import requests
import schemathesis
import uvicorn
from tests.service.conftest import READ, WRITE, text_model

from vicinal.service import create_app

EXAMPLES = int(os.environ.get("VICINAL_FUZZ_EXAMPLES", "15"))
"""Requests per endpoint and phase; ``make fuzz-service`` runs the long form."""


TOKENS = {"read_token": READ, "write_token": WRITE}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server for the tests of this module."""
    store = tmp_path_factory.mktemp("schema") / "taught.sqlite"
    app = create_app({"pets": text_model()}, store=store, **TOKENS)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def connection() -> Iterator[requests.Session]:
    """Keep the connection from one request to the next."""
    with requests.Session() as session:
        yield session


CONFIG = schemathesis.config.SchemathesisConfig.from_dict(
    {
        "parameters": {"model_id": "pets"},
        "auth": {"openapi": {"read": {"bearer": READ}, "write": {"bearer": WRITE}}},
        "checks": {
            # Too large a body is refused as such, whatever else is wrong with it.
            "negative_data_rejection": {"expected-statuses": ["4xx"]},
            # 422 also tells that a row does not fit the model, which the document cannot state: it
            # does not know how many features a model has, nor what a labeling interface is.
            "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "409", "422", "501"]},
            "not_a_server_error": {"expected-statuses": ["2xx", "4xx", "501"]},
        },
    }
)


document = create_app({"pets": text_model()}, store=None, **TOKENS).openapi()
schema = schemathesis.openapi.from_dict(document, config=CONFIG)


def _test_of(method: str, path: str) -> Any:
    @schema.include(method=method, path=path).parametrize()
    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        deadline=None,
        derandomize=True,
        database=None,
    )
    def test(case, address, connection) -> None:
        case.call_and_validate(base_url=address, session=connection)

    return test


# A name for each: schemathesis gives all tests of one function the same.
globals().update(
    {
        f"test_every_reply_is_documented {method.upper()} {path}": _test_of(method, path)
        for path, methods in document["paths"].items()
        for method in methods
    }
)
