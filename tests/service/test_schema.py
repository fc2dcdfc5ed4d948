"""schemathesis over the OpenAPI document: every reply is one the document promises."""

import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import schemathesis
import uvicorn
from schemathesis.specs.openapi.checks import ignored_auth
from tests.service.conftest import READ, WRITE, text_model

from vicinal.service import create_app

EXAMPLES = 15
"""Requests per endpoint and phase; ``make fuzz-service`` runs the long form."""


def address_of_a_server() -> str:
    """Start a server that ends with the tests, and return its address."""
    folder = tempfile.TemporaryDirectory()
    store = Path(folder.name) / "taught.sqlite"
    app = create_app({"pets": text_model()}, store=store, read_token=READ, write_token=WRITE)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    KEPT.append(folder)
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"


KEPT: list[tempfile.TemporaryDirectory] = []
CONFIG = schemathesis.config.SchemathesisConfig.from_dict(
    {
        "parameters": {"model_id": "pets"},
        "headers": {"Authorization": f"Bearer {WRITE}"},
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
schema = schemathesis.openapi.from_url(address_of_a_server() + "/openapi.json", config=CONFIG)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=list(HealthCheck),
    deadline=None,
    derandomize=True,
    database=None,
)
def test_every_reply_is_documented(case) -> None:
    # Every request carries the token, so leaving it out cannot be tried here: see test_access.
    case.call_and_validate(excluded_checks=[ignored_auth])
