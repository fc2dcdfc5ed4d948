"""``vicinal evaluate``: measure how well a saved model predicts a data set."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vicinal.cli.options import (
    CommonOptions,
    DataArgument,
    ModelArgument,
    RowsOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import errors, out, print_json
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal._core.arrays import Csr
    from vicinal.cli.data_source import Source
    from vicinal.methods.pipeline import Model
    from vicinal.scores import Scores


class EvaluateOptions(CommonOptions):
    """The options of ``vicinal evaluate``."""

    rows: RowsOption = "auto"
    conventions: str = option(
        "Edge cases as defined by: vicinal, sklearn, mulan, meka.", default="vicinal"
    )
    metrics: str = option(
        "Metrics to compute, such as f1@5,recall@10; by default all, with k = 1, 3 and 5.",
        default="",
    )


@with_options
def evaluate_model(
    model: ModelArgument, data: DataArgument, chosen: EvaluateOptions, table: TableChoice
) -> None:
    """Predict the rows of a data set and compare the predictions with its labels.

    Rows are read, predicted and counted in blocks: memory does not grow with the number of rows.
    """
    from vicinal._core.progress import shown
    from vicinal.cli.data_source import new_blocks, shown_name
    from vicinal.cli.predict import load_model
    from vicinal.methods.pipeline import estimator_of
    from vicinal.metrics import MetricAccumulator, metric_info, metrics_table
    from vicinal.metrics.catalogue import check_conventions

    words = chosen.metrics.split(",") if chosen.metrics else []
    chosen.import_modules(words)
    rules = check_conventions(chosen.conventions)
    asked = [metric_info(name).name for name in words] or None
    running: MetricAccumulator | None = None
    fitted = load_model(model)
    name = shown_name(data)
    with shown():
        blocks = new_blocks(fitted, data, chosen.rows, "test", table, labelled=True)
        for source, truth, predicted, scores in _judged(fitted, blocks):
            name = source.name
            if running is None:
                counts = training_counts(estimator_of(fitted), truth.shape[1])
                running = MetricAccumulator(conventions=rules, metrics=asked, **counts)
            running.add(truth, predicted, scores)
    if running is None:
        raise InvalidArgumentError("DATA", "at least one row", name)
    found = running.result()
    if chosen.json:
        print_json(found)
    else:
        out.print(metrics_table({f"{name}, {running.n_rows:,} rows": found}))


def _judged(
    model: "Model", sources: "Iterable[Source]"
) -> "Iterator[tuple[Source, Csr, Csr, Scores]]":
    """Yield some rows, their true labels, predicted labels and scores."""
    from vicinal._core.labels import aligned_columns, moved_columns
    from vicinal.cli.predict import scored_blocks
    from vicinal.methods.pipeline import estimator_of
    from vicinal.metrics.evaluate import widen, widen_labels

    estimator = estimator_of(model)
    n_known = len(estimator.label_names_)
    for start, source, scores in scored_blocks(model, sources):
        if not start:  # All blocks have the same labels.
            columns, names = aligned_columns(source.label_names, estimator.label_names_)
            n_unknown = len(names) - n_known
            if n_unknown:
                said = "labels of the data are unknown to the model: never predicted"
                errors.print(f"{n_unknown} {said}")
        truth = moved_columns(source.labels(), columns, len(names))
        predicted = widen_labels(estimator.decide(scores), n_unknown)
        yield source, truth, predicted, widen(scores, n_unknown)


def training_counts(estimator: Any, n_labels: int) -> dict[str, Any]:
    """Return what the propensity-scored metrics need of the rows a model was trained on.

    Labels that the model does not know were seen in no training row. Nothing is returned for models
    that keep no labels, or too few for propensities: those metrics are then left out.
    """
    import numpy as np

    Y = getattr(getattr(estimator, "scoring_", None), "Y", None)
    rows = getattr(estimator, "search_", None)
    if Y is not None and rows is not None and rows.n_empty:
        Y = Y[np.flatnonzero(~rows.gone)]
    if Y is None or Y.shape[0] < 3:
        return {}
    counts = np.zeros(n_labels)
    counts[: Y.shape[1]] = Y.sum(axis=0)
    return {"train_label_counts": counts, "n_train_rows": int(Y.shape[0])}
