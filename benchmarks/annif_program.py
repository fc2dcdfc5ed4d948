"""The program ``annif`` in an environment of its own, and the corpora it is tried on."""

import gzip
import lzma
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

URI = "http://www.yso.fi/onto/yso/"
PUNKT = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")


class Corpus(NamedTuple):
    """A vocabulary and documents in Annif's TSV format, split into training and test documents."""

    name: str
    language: str
    subjects: Path
    train: Path
    test: Path


class Run(NamedTuple):
    """What one run of the program printed, how long it took, and its peak resident memory."""

    output: str
    seconds: float
    peak_bytes: int


class AnnifProgram:
    """The program, with a folder of its own for projects and data.

    Parameters
    ----------
    program : str
        Path of ``annif``.
    folder : Path
        Exists. Projects, their data and copies of the corpora go here.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self.folder = folder
        self._program = program
        english = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
        english.mkdir(parents=True)
        for name in PUNKT:  # the analyzers require these files to exist; they may be empty
            (english / name).touch()

    def configure(self, corpus: Corpus, projects: Mapping[str, str]) -> None:
        """Write the configuration: each project's name with its own settings."""
        text = "".join(
            f"[{name}]\nname={name}\nlanguage={corpus.language}\nvocab={corpus.name}\n"
            f"analyzer=simple\nlimit=100\nallow_learn=1\n{settings}\n\n"
            for name, settings in projects.items()
        )
        (self.folder / "projects.cfg").write_text(text, encoding="utf-8")

    def load_vocabulary(self, corpus: Corpus) -> None:
        """Load the subjects of a corpus."""
        self.run("load-vocab", "-L", corpus.language, corpus.name, str(corpus.subjects))

    def run(self, *words: str, text: str = "", seconds: float = 900.0) -> Run:
        """Run a command to its end; raise with its messages if it fails."""
        environment = {
            **os.environ,
            "ANNIF_CONFIG": "vicinal.integrations.annif.Config",
            "NLTK_DATA": str(self.folder / "nltk"),
        }
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
            began = time.perf_counter()
            process = subprocess.Popen(
                [self._program, *words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=messages,
            )
            assert process.stdin is not None
            with process.stdin:
                process.stdin.write(text.encode())
            peak_bytes = _wait(process, began + seconds)
            taken = time.perf_counter() - began
            out.seek(0)
            messages.seek(0)
            if process.returncode != 0:
                raise RuntimeError(messages.read().decode(errors="replace")[-3000:])
            return Run(out.read().decode(), taken, peak_bytes)

    def suggest(self, project: str, text: str) -> dict[str, float]:
        """Return the suggested URIs with their scores."""
        lines = self.run("suggest", "--limit", "10", project, text=text).output.splitlines()
        found = (line.split("\t") for line in lines)
        return {uri.strip("<>"): float(score) for uri, *_, score in found}

    def evaluate(self, project: str, test: Path) -> dict[str, float]:
        """Return the measures of ``annif eval``."""
        output = self.run("eval", "--limit", "10", project, str(test)).output
        lines = (re.fullmatch(r"(\S.*?):\s+([0-9.]+)", line) for line in output.splitlines())
        return {match[1]: float(match[2]) for match in lines if match}


def _wait(process: "subprocess.Popen[bytes]", end: float) -> int:
    """Wait for a process; return its peak resident memory in bytes."""
    peak_bytes = 0
    while time.perf_counter() < end:
        if process.poll() is not None:
            return peak_bytes
        peak_bytes = max(peak_bytes, _peak_so_far(process.pid))
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise TimeoutError("annif did not end in time")


def _peak_so_far(pid: int) -> int:
    """Return the peak resident memory of a running process; 0 where it cannot be read.

    Not that of getrusage: it begins with the memory of the process that started this one.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def archaeology(data: Path, folder: Path, train: int = 5000) -> Corpus:
    """Return Annif's own test corpus: the first titles for training, the rest for testing."""
    source = data / "annif-archaeology"
    lines = (source / "documents.tsv").read_text(encoding="utf-8").splitlines()
    return _written(
        Corpus(
            "archaeology",
            "fi",
            source / "subjects.tsv",
            folder / "archaeology-train.tsv",
            folder / "archaeology-test.tsv",
        ),
        lines[:train],
        lines[train:],
    )


def yso_finna(data: Path, folder: Path, train: int = 20_000, test: int = 2_000) -> Corpus:
    """Return a part of yso-finna-en: titles in English with subjects of the whole YSO.

    Every 16th title is taken, so that the part covers the whole file.
    """
    source = data / "yso-finna-en"
    with gzip.open(source / "labels.tsv.gz", "rt", encoding="utf-8") as stream:
        subjects = [line.rstrip("\n").split("\t", 1) for line in stream]
    uris = [f"<{URI}{identifier}>" for identifier, _ in subjects]
    vocabulary = folder / "yso-subjects.tsv"
    lines = [f"{uri}\t{_one_cell(label)}" for uri, (_, label) in zip(uris, subjects, strict=True)]
    vocabulary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with lzma.open(source / "yso-finna-en.tsv.xz", "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t", 1) for line in islice(stream, 0, None, 16)]
    documents = [
        f"{_one_cell(title)}\t{' '.join(uris[int(label)] for label in labels.split(','))}"
        for labels, title in rows[: train + test]
    ]
    return _written(
        Corpus("yso", "en", vocabulary, folder / "yso-train.tsv", folder / "yso-test.tsv"),
        documents[:train],
        documents[train:],
    )


def _one_cell(text: str) -> str:
    """Return a text without the tabs that would end its cell."""
    return text.replace("\t", " ")


def _written(corpus: Corpus, train: Sequence[str], test: Sequence[str]) -> Corpus:
    """Write the two parts of a corpus."""
    corpus.train.write_text("\n".join(train) + "\n", encoding="utf-8")
    corpus.test.write_text("\n".join(test) + "\n", encoding="utf-8")
    return corpus
