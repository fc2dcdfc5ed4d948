"""``vicinal explain``: explain the labels that a model predicts for the rows of a file."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vicinal._core.progress import part, shown
from vicinal.cli.options import (
    CommonOptions,
    FileArgument,
    ModelArgument,
    RowsOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import check_target, errors, out, say
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal.explanation import Explanations
    from vicinal.methods.pipeline import Model


class ExplainOptions(CommonOptions):
    """The options of ``vicinal explain``."""

    labels_explained: list[str] | None = option(
        "A label to explain; repeatable. Default: predicted and best.", "--label"
    )
    top: int = option(
        "How many best labels to explain besides the predicted ones.", default=5, min=0
    )
    limit: int = option("Explain at most this many rows, from the first on.", default=5, min=1)
    what_if: bool = option(
        "Find the neighbours and features that decide a predicted label.",
        "--what-if",
        default=False,
    )
    html: Path | None = option("Write an HTML page to this file instead.", "--html")
    learned_from: str | None = option(
        "File of the training texts, to show the texts of neighbours."
    )
    rows: RowsOption = "all"


@with_options
def explain_rows(
    model: ModelArgument, file: FileArgument, chosen: ExplainOptions, table: TableChoice
) -> None:
    """Explain the labels of each row: how neighbours and features add up to each score."""
    from vicinal.cli.data_source import BLOCK_ROWS, new_blocks, some_rows
    from vicinal.cli.predict import load_model, rows_for, shown_names
    from vicinal.methods import explain

    check_target("--html", chosen.html)
    chosen.import_modules()
    fitted = load_model(model)
    most = max(chosen.limit, BLOCK_ROWS)
    blocks = new_blocks(fitted, file, chosen.rows, "all", table, labelled=False, block_rows=most)
    source = next(blocks, None)
    if source is None:
        raise InvalidArgumentError("FILE", "at least one row", file)
    n_rows = min(chosen.limit, source.n_rows)
    n_all = source.n_rows + sum(each.n_rows for each in blocks)
    with shown(), part(f"Explaining {n_rows:,} rows"):
        found = explain(
            fitted,
            some_rows(rows_for(fitted, source), slice(n_rows)),
            chosen.labels_explained or None,
            chosen.top,
            what_if=chosen.what_if,
            row_names=None if source.row_names is None else source.row_names[:n_rows],
            row_texts=_training_texts(fitted, chosen.learned_from, table),
        )
    names = shown_names(fitted, table)
    found = found if chosen.json or names is None else with_label_names(found, names)
    _print(found, chosen.html, chosen.json)
    if n_rows < n_all:
        note = f"{n_rows:,} of {n_all:,} rows explained (--limit N for more)"
        errors.print(note, highlight=False)


def with_label_names(found: "Explanations", names: Mapping[str, str]) -> "Explanations":
    """Return explanations whose labels are shown by name, with their identifier."""
    from vicinal.explanation import Explanations

    def shown_as(label: str) -> str:
        return f"{names[label]} <{label}>" if label in names else label

    def shown_labels(labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(shown_as, labels))

    return Explanations(
        replace(
            one,
            predicted=shown_labels(one.predicted),
            labels=[replace(each, label=shown_as(each.label)) for each in one.labels],
            neighbors=[replace(each, labels=shown_labels(each.labels)) for each in one.neighbors],
        )
        for one in found
    )


def _training_texts(model: "Model", file: str | None, table: TableChoice) -> list[str] | None:
    """Return the texts that the model was trained on, in the order of its rows."""
    from vicinal.cli.data_source import reads_text, row_blocks
    from vicinal.methods.pipeline import estimator_of

    if file is None:
        return None
    if not reads_text(model):
        raise InvalidArgumentError("--learned-from", "a model that reads texts", file)
    blocks = row_blocks(model, file, "all", "all", table, labelled=False)
    texts = [text for block in blocks for text in cast("list[str]", block.X)]
    n_known = estimator_of(model).search_.n_ids
    if len(texts) != n_known:
        expected = f"the {n_known} training rows of the model"
        raise InvalidArgumentError("--learned-from", expected, f"{len(texts)} rows")
    return texts


def _print(found: "Explanations", html: Path | None, json: bool) -> None:
    """Write the page, or print JSON lines or tables."""
    if html is not None:
        found.write_html(html)
        say(f"{len(found):,} rows explained, written to {html}")
    elif json:
        for one in found:
            sys.stdout.write(one.to_json() + "\n")
    else:
        for one in found:
            out.print(one)
