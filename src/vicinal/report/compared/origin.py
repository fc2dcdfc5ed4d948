"""Provenance of the results: settings, data hashes, versions and machine."""

from collections.abc import Mapping, Sequence

from vicinal.report.blocks import Facts, Paragraph, Section
from vicinal.report.table import DataTable
from vicinal.results import Result

ORIGIN_TEXT = (
    "Everything on this page was generated from stored results and can be regenerated from them."
)


def origin_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return the provenance of the results."""
    settings = _settings(results, methods)
    return Section(
        "Provenance",
        [
            Paragraph(ORIGIN_TEXT),
            Facts(_shared([_machine(result) for result in results])),
            DataTable("Settings of the methods", ["method", "settings"], settings),
            DataTable("Data sets", ["data set", "SHA-256, first 16 digits"], _data(results)),
        ],
    )


def _machine(result: Result) -> dict[str, str]:
    """Return the facts that are the same for all data sets of a run."""
    return {name: value for name, value in result.provenance.items() if name != "data"}


def _shared(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return facts; if results differ, all values of a fact are listed."""
    names = dict.fromkeys(name for each in facts for name in each)
    return {
        name: "; ".join(dict.fromkeys(each[name] for each in facts if name in each))
        for name in names
    }


def _settings(results: Sequence[Result], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return the settings of each method, per data set and seed if they differ."""
    rows = []
    for method in methods:
        of_method = [result for result in results if result.method == method]
        said = {_said(result) for result in of_method}
        if len(said) == 1:
            rows.append((method, said.pop()))
        else:
            rows += [(f"{method}, {_round(result)}", _said(result)) for result in of_method]
    return rows


def _round(result: Result) -> str:
    """Return data set and seed."""
    return result.data if result.seed is None else f"{result.data}, seed {result.seed}"


def _said(result: Result) -> str:
    """Return settings, and the note, as text."""
    settings = ", ".join(f"{name}={value}" for name, value in result.settings.items())
    return "; ".join(filter(None, [settings, result.note])) or "–"


def _data(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the hash of each data set."""
    known = dict.fromkeys((result.data, result.provenance.get("data", "–")) for result in results)
    return list(known)
