"""``vicinal evaluate``: how well a saved model does on a data set."""

from typing import Annotated

import numpy as np
import typer
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.labels import aligned
from vicinal.cli.output import JsonFlag, errors, out, print_json
from vicinal.cli.scoring import ModelArgument, score
from vicinal.cli.source import (
    DataArgument,
    RowsOption,
    new_source,
)
from vicinal.cli.table_options import TableChoice, reads_tables
from vicinal.estimators import load as load_model
from vicinal.metrics import evaluate, metrics_table
from vicinal.scores import Scores


@reads_tables
def evaluate_model(
    model: ModelArgument,
    data: DataArgument,
    rows: RowsOption = "auto",
    conventions: Annotated[
        str, typer.Option(help="Edge cases as in: vicinal, sklearn, mulan, meka.")
    ] = "vicinal",
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Predict the rows of a data set and compare with its labels."""
    fitted = load_model(model)
    source = new_source(fitted, data, rows, "test", table, labelled=True)
    estimator, scores = score(fitted, source)
    predicted = estimator.decision_.decide(scores)
    truth, _ = aligned(source.labels(), source.label_names, estimator.label_names_)
    strangers = truth.shape[1] - predicted.shape[1]
    if strangers:
        errors.print(f"{strangers} labels of the data are unknown to the model: always missed")
        scores, predicted = widen(scores, strangers), widen_labels(predicted, strangers)
    found = evaluate(truth, predicted, scores, conventions=conventions)
    if json:
        print_json(found)
    else:
        column = f"{source.name}, {source.n_rows:,} rows"
        out.print(metrics_table({column: found}))


def widen(scores: Scores, n_more: int) -> Scores:
    """Return the scores with further labels that score 0 everywhere."""
    if isinstance(scores.values, sparse.csr_array):
        base = np.concatenate([scores.base, np.zeros(n_more)])
        return Scores.sparse(widen_labels(scores.values, n_more), base)
    return Scores.dense(np.pad(scores.values, ((0, 0), (0, n_more))))


def widen_labels(labels: Csr, n_more: int) -> Csr:
    """Return the matrix with further, empty columns."""
    shape = (labels.shape[0], labels.shape[1] + n_more)
    return sparse.csr_array((labels.data, labels.indices, labels.indptr), shape=shape)
