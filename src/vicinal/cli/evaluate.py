"""``vicinal evaluate``: measure how well a saved model predicts a data set."""

from typing import Annotated

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import (
    DataArgument,
    ImportOption,
    ModelArgument,
    RowsOption,
)
from vicinal.cli.output import JsonFlag, errors, out, print_json
from vicinal.cli.table_options import TableChoice, reads_tables


@reads_tables
def evaluate_model(
    model: ModelArgument,
    data: DataArgument,
    rows: RowsOption = "auto",
    conventions: Annotated[
        str, typer.Option(help="Edge cases as defined by: vicinal, sklearn, mulan, meka.")
    ] = "vicinal",
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Predict the rows of a data set and compare the predictions with its labels."""
    from vicinal._base.labels import aligned
    from vicinal.cli.scoring import score
    from vicinal.cli.source import new_source
    from vicinal.estimators import load as load_model
    from vicinal.metrics import evaluate, metrics_table
    from vicinal.metrics.alignment import widen, widen_labels

    import_modules(imports)
    fitted = load_model(model)
    source = new_source(fitted, data, rows, "test", table, labelled=True)
    estimator, scores = score(fitted, source)
    predicted = estimator.decide(scores)
    truth, _ = aligned(source.labels(), source.label_names, estimator.label_names_)
    n_unknown = truth.shape[1] - predicted.shape[1]
    if n_unknown:
        errors.print(f"{n_unknown} labels of the data are unknown to the model: never predicted")
        scores, predicted = widen(scores, n_unknown), widen_labels(predicted, n_unknown)
    found = evaluate(truth, predicted, scores, conventions=conventions)
    if json:
        print_json(found)
    else:
        column = f"{source.name}, {source.n_rows:,} rows"
        out.print(metrics_table({column: found}))
