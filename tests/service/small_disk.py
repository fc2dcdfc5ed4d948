"""A service on a disk that is really full, then really read-only: run by ``test_faults``.

``python -m tests.service.small_disk MODEL FOLDER`` in a mount namespace of its own (``unshare
--mount``): a small tmpfs is mounted on FOLDER, which nothing outside this process sees.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import WRITE, Client

from vicinal.service import create_app
from vicinal.service.limits import StoreError

SIZE = "2m"


def mount(folder: Path, options: str) -> None:
    """Mount the small disk, or change how it is mounted."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write until nothing fits on the disk."""
    with file.open("wb", buffering=0) as stream:
        for size in (2**16, 2**12, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue


def error_of(reply: Any) -> tuple[int, str]:
    """Return the status and the code of a refusal."""
    return reply.status_code, reply.json()["error"]["code"]


def full(model: Path, disk: Path) -> None:
    """Teach on a full disk: refused with a sentence, nothing lost, and it works again later."""
    app = create_app([model], store=disk / "taught.sqlite", write_token=WRITE)
    with Client(app) as client:
        assert client.learn("a parrot", "birds").json()["version"] == 1
        fill(disk / "ballast")
        for _ in range(2):
            reply = client.learn("b " * 50_000, "birds", key="large")
            assert error_of(reply) == (507, "disk-full"), reply.text
        token = {"Authorization": f"Bearer {WRITE}"}
        snapshot = client.post("/v1/models/pets/snapshot", headers=token)
        assert error_of(snapshot) == (507, "snapshot-failed"), snapshot.text
        assert client.facts()["version"] == 1
        assert client.predict("a cat")["version"] == 1
        assert "vicinal_store_failures_total 2.0" in client.get("/metrics").text
        (disk / "ballast").unlink()
        reply = client.learn("b " * 50_000, "birds", key="large").json()
        assert (reply["version"], reply["repeated"]) == (2, False)


def starts(model: Path, disk: Path) -> None:
    """Start on a full disk and on a read-only one: refused with the reason; then as before."""
    store = disk / "taught.sqlite"
    fill(disk / "ballast")
    with pytest.raises(StoreError, match="the disk is full"):
        create_app([model], store=store, write_token=WRITE)
    (disk / "ballast").unlink()
    mount(disk, "remount,ro")
    with pytest.raises(StoreError, match="Read-only file system"):
        create_app([model], store=store, write_token=WRITE)
    mount(disk, "remount,rw")
    with Client(create_app([model], store=store, write_token=WRITE)) as client:
        assert client.facts()["rows"] == 8
        assert client.learn("a whale", "fish").json()["version"] == 3


def main() -> None:
    """Run every step; the last line printed says that all went well."""
    model, disk = Path(sys.argv[1]), Path(sys.argv[2])
    mount(disk, f"size={SIZE}")
    if not os.path.ismount(disk):
        raise SystemExit("the small disk was not mounted")
    full(model, disk)
    starts(model, disk)
    sys.stdout.write("all steps passed\n")


if __name__ == "__main__":
    main()
