"""Take the pictures of the documentation that show a running program.

``make pictures`` trains the default model on the tickets of ``docs/samples``, serves it, and writes
``docs/_static/page.png`` (the page of the service) and ``docs/_static/why.png`` (the page of an
explanation), in light mode. It needs chromium and playwright, as ``make browser`` does.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "_static"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
TEXT = "The parcel arrived damaged, please refund the lamp"
LABEL = "refund"
"""What the picture of the page shows: the labels of a text, and why it gets one of them."""

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")


def vicinal(folder: Path, *arguments: str) -> list[str]:
    """Return the command line of a program that runs in `folder`."""
    shutil.copytree(ROOT / "docs" / "samples", folder, dirs_exist_ok=True)
    return [sys.executable, "-m", "vicinal", *arguments]


def run(folder: Path, *arguments: str) -> None:
    """Run a command to its end."""
    subprocess.run(vicinal(folder, *arguments), cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def served(folder: Path, model: str) -> Iterator[str]:
    """Serve a model, and yield the address of its page."""
    command = vicinal(folder, "serve", model, "--port", "0")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=subprocess.STDOUT) as process:
        try:
            for line in process.stdout or ():
                if found := _ADDRESS.search(line.decode()):
                    wait_for(found[0])
                    yield found[0]
                    return
            raise RuntimeError(f"vicinal serve {model} ended before it printed its address")
        finally:
            process.terminate()


def wait_for(address: str) -> None:
    """Wait until the service answers: it prints its address before it has loaded the model."""
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}readyz"):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{address} does not answer")


def take(page: Page, name: str) -> None:
    """Save what a page shows, in 256 colours, which take a third of the space."""
    page.screenshot(path=PICTURES / name)
    with Image.open(PICTURES / name) as picture:
        picture.quantize(256).save(PICTURES / name, optimize=True)


def page_of_the_service(browser: Browser, folder: Path) -> None:
    """Take the picture of the page: a text, its labels, and the words and tickets behind one."""
    columns = "--text", "message", "--row-names", "message"
    run(folder, "train", "tickets.csv", "-o", "tickets.model", *columns)
    with served(folder, "tickets.model") as address:
        page = browser.new_page(viewport={"width": 980, "height": 856}, color_scheme="light")
        page.goto(address)
        page.fill("#text", TEXT)
        page.wait_for_selector("#status:has-text('predicted')")
        page.get_by_role("button", name=LABEL).hover()
        page.wait_for_selector("#why h3:has-text('is the sum of')")
        take(page, "page.png")


def page_of_an_explanation(browser: Browser, folder: Path) -> None:
    """Take the picture of the page that ``vicinal explain --html`` writes."""
    run(folder, "train", "tickets.csv", "-o", "named.model")
    asked = "named.model", "new-tickets.csv", "--limit", "1", "--label", "delivery"
    run(folder, "explain", *asked, "--html", "why.html", "--learned-from", "tickets.csv")
    page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme="light")
    page.goto((folder / "why.html").as_uri())
    take(page, "why.png")


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page_of_the_service(browser, Path(name))
        page_of_an_explanation(browser, Path(name))
        browser.close()


if __name__ == "__main__":
    main()
