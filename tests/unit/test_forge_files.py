"""The files for a forge: valid YAML, no steps but Makefile targets, one version everywhere."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OTHERS = sorted((ROOT / ".github").glob("**/*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def jobs(path: Path) -> list[dict[str, Any]]:
    return list(read(path)["jobs"].values())


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_is_a_mapping_in_yaml(path: Path) -> None:
    assert isinstance(read(path), dict)


def test_workflows_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["checks", "release", "weekly"]


def targets(job: dict[str, Any]) -> list[str]:
    """Return what the steps of a job run, once for every value of the matrix."""
    lines = [step["run"] for step in job["steps"] if "run" in step]
    values = job.get("strategy", {}).get("matrix", {}).get("target", [""])
    return [line.replace("${{ matrix.target }}", value) for line in lines for value in values]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_steps_run_targets_of_the_makefile_only(path: Path) -> None:
    for job in jobs(path):
        for line in targets(job):
            program, _, target = line.partition(" ")
            assert program == "make"
            assert target in TARGETS, line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_have_a_time_limit_and_no_more_rights_than_they_need(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}
    for job in jobs(path):
        assert job["timeout-minutes"] <= 360
        assert job.get("permissions", {}) in ({}, {"id-token": "write"})


def test_every_supported_python_and_system_is_tested() -> None:
    matrix = read(ROOT / ".github/workflows/checks.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert [system.split("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_pre_commit_runs_the_linters_of_the_makefile() -> None:
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    programs = {hook["entry"].split()[0] for hook in repo["hooks"]}
    lint = (ROOT / "Makefile").read_text("utf-8").split("\nlint:")[1].split(".PHONY: format")[0]
    assert programs == {f".venv/bin/{name}" for name in re.findall(r"\$\(BIN\)/([\w-]+)", lint)}


def test_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    reproduction = tomllib.loads((ROOT / "reproduction/pyproject.toml").read_text("utf-8"))
    assert reproduction["project"]["version"] == version
    assert reproduction["project"]["dependencies"] == [f"vicinal=={version}"]
    assert read(ROOT / "CITATION.cff")["version"] == version
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == version
