"""What the pages tell readers to type, typed; what they say comes out, compared."""

import csv
import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vicinal.cli import output
from vicinal.datasets import Dataset, write_file

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def blocks(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def ran(folder, code, names=None):
    """Run the code of a page; return the names it leaves."""
    file = folder / "page.py"
    file.write_text(code, encoding="utf-8")
    return {**(names or {}), **runpy.run_path(str(file), init_globals=names)}


@pytest.fixture
def typed(run, tmp_path, monkeypatch):
    """Return a function that runs a line as a shell would; it returns exit code and output.

    A shell starts the installed program only where that takes no time, and the commands before a
    pipe: ``vicinal`` itself runs in this process, because each start imports every library again.
    """
    environment = {"HOME": str(tmp_path), "COLUMNS": "120", "LC_ALL": "C.UTF-8"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    for console in (output.out, output.errors):  # made at import, perhaps with another width
        monkeypatch.setattr(console, "_width", 120)

    def shell(line):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def type_line(line):
        before, pipe, program = line.rpartition(" | ")
        words = shlex.split(program)
        if words == ["vicinal", "--version"]:
            return shell(line)
        assert words[0] == "vicinal"
        assert not set(program) & set("|&;<>$`*?"), "a shell would see more than words"
        if pipe:
            code, given = shell(before)
            assert code == 0, given
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code, out, errors = run(*words[1:])
        return code, out + errors

    return type_line


def pages_with_commands():
    """Return the pages that show commands with their output (own-methods.md has its own test)."""
    pages = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
    shown = [page for page in pages if "```console" in page.read_text(encoding="utf-8")]
    return [page for page in shown if page.name != "own-methods.md"]


@pytest.mark.parametrize("page", pages_with_commands(), ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page, tmp_path, typed):
    for sample in (DOCS / "samples").iterdir():
        shutil.copy(sample, tmp_path)
    for shown in (each for block in blocks(page, "console") for each in commands(block)):
        command, *lines = shown
        code, out = typed(command)
        said = squeezed(out)
        assert code == 0, (command, said)
        for line in lines:
            assert is_shown(squeezed(line), said), (command, line, said)


def commands(block):
    """Return the commands of a block, each with the lines that are shown of its output."""
    assert block.startswith("$ ")
    return [each.rstrip("\n").split("\n") for each in re.split(r"^\$ ", block, flags=re.M)[1:]]


NUMBER = re.compile(r"[-+−]?\d+\.\d+")


def is_shown(line, said):
    """Tell whether a line was printed; decimal numbers may differ by rounding (0.011 or 1 %)."""
    pattern = r"([-+−]?\d+\.\d+)".join(map(re.escape, NUMBER.split(line)))
    shown = [number(each) for each in NUMBER.findall(line)]
    return any(
        all(abs(number(a) - b) <= 0.011 + abs(b) / 100 for a, b in zip(found, shown, strict=True))
        for found in (match.groups() for match in re.finditer(pattern, said))
    )


def number(text):
    return float(text.replace("−", "-"))


def squeezed(text):
    """Tables are drawn as wide as their widest cell: blanks do not count."""
    return re.sub(r"\s+", " ", text).strip()


def test_figures_of_quality_are_those_of_the_evidence():
    """The README's table, the chart, and how often the blend is better, on every page."""
    made = runpy.run_path(str(ROOT / "tools" / "readme_figures.py"))
    page = (DOCS / "evidence" / "quality.md").read_text(encoding="utf-8")
    assert made["table"](page) in (ROOT / "README.md").read_text(encoding="utf-8")
    assert made["chart"](page) == (ROOT / made["CHART"]).read_text(encoding="utf-8")
    figures = made["rows"](page)
    better = sum(is_better for *_, is_better in figures)
    for place in ("README.md", "docs/index.md", "docs/how-to/troubleshooting.md"):
        text = re.sub(r"\s+", " ", (ROOT / place).read_text(encoding="utf-8"))
        assert f"{better} of {len(figures)} " in text, place
    unseen = re.findall(r"In (\d+ of \d+ cells)", page)[1]
    assert unseen in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.data
def test_figures_of_the_page_on_scikit_multilearn(tmp_path):
    import vicinal
    from vicinal.metrics import evaluate

    ours, theirs = blocks("how-to/migrate.md", "python")
    names = ran(tmp_path, ours)
    train, test, metrics = names["train"], names["test"], names["metrics"]
    voting = vicinal.BRkNN(n_neighbors=10, strict_majority=True, never_empty=False)
    models = {"`MLkNN`, both": names["model"], "`BRkNNa": voting.fit(train.X, train.Y)}
    page = (DOCS / "how-to" / "migrate.md").read_text(encoding="utf-8").splitlines()
    for start, model in models.items():
        figures = evaluate(test.Y, model.predict(test.X), metrics=metrics)
        (row,) = [line for line in page if line.startswith(f"| {start}") and "0." in line]
        assert re.findall(r"0\.\d{4}", row) == [f"{figures[name]:.4f}" for name in metrics]
    pytest.importorskip("skmultilearn")
    found = ran(tmp_path, theirs, names)["theirs"].predict(test.X).toarray()
    assert (found == names["model"].predict(test.X).toarray()).all()


def test_the_figures_beside_mulans_are_those_that_were_reproduced(run):
    pytest.importorskip("vicinal_reproduction")
    code, out, errors = run("reproduce", "wang2018", "3", "--shipped", "--json")
    assert code == 0, errors
    found = {(x["data"], x["method"], x["metric"]): x for x in json.loads(out)}
    with (DOCS / "evidence" / "mulan.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert sum(abs(float(row["reported"]) - float(row["vicinal"])) < 0.003 for row in rows) == 57
    for row in rows:
        both = found[row["data"], row["method"], row["metric"]]
        assert row["reported"] == f"{both['reported']:.3f}"
        assert row["vicinal"] == f"{both['ours']:.3f}"
        is_brknn = (row["data"], row["method"]) == ("emotions", "brknn")
        assert abs(both["difference"]) < 0.003 or is_brknn


def test_options_that_pages_name_exist():
    from typer.main import get_command

    from vicinal.cli.program import app

    known = {
        option
        for command in walk(get_command(app))
        for parameter in command.params
        for option in parameter.opts
    }
    for page in DOCS.rglob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            for part in re.findall(r"vicinal (?:train|evaluate|predict|compare|data)[^`|]*", line):
                assert set(re.findall(r"(?<!\S)(--[a-z-]+)", part)) <= known, (page, line)


def walk(command):
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from walk(each)


def test_the_module_of_the_page_on_own_methods(tmp_path, typed, monkeypatch):
    """The module uses public names only, and does what the page says, also without neighbours."""
    (code,) = blocks("how-to/own-methods.md", "python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 40
    imported = re.findall(r"^from (vicinal\S*) import (.*)$", code, flags=re.MULTILINE)
    for module, names in imported:
        public = __import__(module, fromlist=["__all__"])
        for name in names.split(", "):
            assert not name.startswith("_")
            assert hasattr(public, name)
    assert "._" not in code.replace("._fit_scoring", "")
    (tmp_path / "rank_weighted.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((60, 5))
    Y = (X[:, :3] + rng.normal(0, 0.2, (60, 3)) > 0.5).astype(int)
    names = {"feature_names": tuple("abcde"), "label_names": tuple("xyz")}
    data = Dataset(X, Y, **names, train=np.arange(40), test=np.arange(40, 60))
    write_file(data, tmp_path / "emotions.npz")
    (commands,) = blocks("how-to/own-methods.md", "console")
    for line in commands.splitlines():
        code_of_line, output = typed(line.removeprefix("$ ").replace("emotions", "emotions.npz"))
        assert code_of_line == 0, output
    kind = __import__("rank_weighted").RankWeighted
    model = kind(3).fit(X[:40], Y[:40])
    distances = np.sqrt(((X[40:, None] - X[None, :40]) ** 2).sum(axis=2))
    near = np.argsort(distances, axis=1, kind="stable")[:, :3]
    weights = np.array([1, 1 / 2, 1 / 3])
    expected = np.einsum("j,ijl->il", weights, Y[:40][near]) / weights.sum()
    assert np.allclose(model.predict_proba(X[40:]), expected)
    alone = kind(3, metric="cosine").fit(np.eye(4)[:3], Y[:3])
    assert np.allclose(alone.predict_proba(np.eye(4)[3:]), Y[:3].mean(axis=0))


@pytest.mark.parametrize(
    "page", ["how-to/languages.md", "how-to/vocabularies.md", "how-to/frames.md"]
)
def test_programs_print_what_their_comments_say(page, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "".join(blocks(page, "python"))
    ran(tmp_path, code)
    said = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == said
