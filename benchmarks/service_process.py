"""``vicinal serve`` in a process of its own, on a port of the loopback interface."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
TOKEN = "benchmark-token"
START = "import typer\nfrom vicinal.cli.serve import serve\ntyper.run(serve)"
MOST_SECONDS_TO_START = 120


class ServiceProcess:
    """A running service with one model, named ``debtags``.

    Parameters
    ----------
    model : Path
        Folder of the model.
    store : Path
        File for what is taught; the log of the service is written beside it.
    """

    def __init__(self, model: Path, store: Path) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = int(free.getsockname()[1])
        words = [f"debtags={model}", "--port", str(self.port), "--store", str(store)]
        began = time.perf_counter()
        with store.with_suffix(".log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, *words],
                stdout=log,
                stderr=log,
                env={**os.environ, "VICINAL_WRITE_TOKEN": TOKEN},
            )
        while True:
            try:
                self.ask("/readyz")
                break
            except OSError:
                late = time.perf_counter() - began > MOST_SECONDS_TO_START
                if self.process.poll() is not None or late:
                    raise
                time.sleep(0.02)
        self.seconds_to_start = time.perf_counter() - began

    def ask(self, path: str, body: object = None) -> Any:
        """Send one request and return the JSON of its reply."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Return the processor time that the service has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        ticks = stat.rpartition(")")[2].split()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End the process."""
        self.process.send_signal(how)
        self.process.wait(60)


def request_bytes(path: str, body: object, key: str | None = None) -> bytes:
    """Return a whole HTTP request."""
    content = json.dumps(body).encode()
    given = f"Idempotency-Key: {key}\r\n" if key else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {TOKEN}\r\n{given}Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content
