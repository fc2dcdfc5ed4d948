"""Structured logs and Prometheus metrics."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, message, and whatever the caller added."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def log_as_json(level: int = logging.INFO) -> None:
    """Send the logs of the service and of its server to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("vicinal.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level)
        logger.propagate = name == "uvicorn.error"


class ServiceMetrics:
    """The metrics of one app, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "vicinal_requests", "Requests answered", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "vicinal_request_seconds",
            "Time from request to reply",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.batch_rows = Histogram(
            "vicinal_batch_rows",
            "Rows predicted together",
            ("model",),
            buckets=_ROWS,
            registry=self.registry,
        )
        self.taught = Counter(
            "vicinal_rows_taught",
            "Rows learned or forgotten",
            ("model", "kind"),
            registry=self.registry,
        )
        self.store_failures = Counter(
            "vicinal_store_failures", "Changes that could not be stored", registry=self.registry
        )
        self.rows = Gauge("vicinal_model_rows", "Rows known", ("model",), registry=self.registry)
        self.version = Gauge(
            "vicinal_model_version", "Version of the model", ("model",), registry=self.registry
        )
