"""``vicinal serve`` in a process of its own, on a port of the loopback interface."""

import json
import os
import re
import signal
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
LAST_CHARACTERS = 3000
BOUND = re.compile(r'"message": ?"bound".*?"port": ?(\d+)')


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
        words = [f"debtags={model}", "--port", "0", "--store", str(store)]
        began = time.perf_counter()
        self._log = store.with_suffix(".log")
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, *words],
                stdout=log,
                stderr=log,
                env={**os.environ, "VICINAL_WRITE_TOKEN": TOKEN},
            )
        while not self._is_ready():
            late = time.perf_counter() - began > MOST_SECONDS_TO_START
            if self.process.poll() is not None or late:
                raise RuntimeError(f"the service did not start: {self._words()[-LAST_CHARACTERS:]}")
            time.sleep(0.02)
        self.seconds_to_start = time.perf_counter() - began

    def ask(self, path: str, body: object = None) -> Any:
        """Send one request and return the JSON of its reply."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def _is_ready(self) -> bool:
        """Tell whether the service answers; its log names the port that it chose."""
        found = BOUND.search(self._words())
        if found is None:
            return False
        self.port = int(found[1])
        try:
            self.ask("/readyz")
        except OSError:
            return False
        return True

    def _words(self) -> str:
        """Return what this process has logged."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode("utf-8", "replace")

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
