"""``vicinal demo``: the whole road on the embedded data."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.output import errors, out, print_facts
from vicinal.cli.serve import PortOption

if TYPE_CHECKING:
    from vicinal.datasets import Dataset
    from vicinal.estimators import NeighborEstimator

SHOWN = (
    "subset-accuracy",
    "example-f1",
    "micro-f1",
    "macro-f1",
    "hamming-loss",
    "one-error",
    "ranking-loss",
    "average-precision",
)


def demo(
    neighbors: Annotated[int, typer.Option(help="Neighbours to learn from.", min=1)] = 10,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the embedded data on a page instead.")
    ] = False,
    port: PortOption = 8000,
) -> None:
    """Learn the tags of Debian packages from the words that describe them, and show the result."""
    from vicinal.datasets import load
    from vicinal.estimators import LCIF, Blend, BRkNN, InstanceKNN, LPkNN, MLkNN
    from vicinal.index import build_index
    from vicinal.metrics import evaluate, metrics_table

    if serve:
        from vicinal.cli.demo_service import serve_demo

        serve_demo(neighbors, port)
        return
    data = load("debtags")
    print_facts("Data: tags of Debian packages", data.statistics())
    train, test = data.split()

    began = time.perf_counter()
    index = build_index(train.X, "cosine")
    training_graph = index.query_self(neighbors)
    test_graph = index.query(test.X, neighbors)
    searched = time.perf_counter() - began
    out.print(
        f"\nSearched once, exactly: {neighbors} neighbours of {data.n_rows:,} rows "
        f"in {searched:.1f} s. The papers' methods below use the same two graphs.\n"
    )

    models: list[NeighborEstimator] = [
        BRkNN(neighbors, variant="a", metric="cosine"),
        LPkNN(neighbors, metric="cosine"),
        MLkNN(neighbors, metric="cosine"),
        InstanceKNN(neighbors),
        LCIF(neighbors, neighbors),
    ]
    results: dict[str, dict[str, float]] = {}
    began = time.perf_counter()
    for model in models:
        model.fit(train.X, train.Y, graph=training_graph, label_names=data.label_names)
        scores = model.scores(test.X, graph=test_graph)
        found = evaluate(test.Y, model.decide(scores), scores, metrics=SHOWN)
        results[_name(model)] = found
    seconds = time.perf_counter() - began

    began = time.perf_counter()
    with errors.status("Learning the blend"):
        blend = Blend().fit(train.X, train.Y, label_names=data.label_names)
        scores = blend.scores(test.X)
    results[_name(blend)] = evaluate(test.Y, blend.decide(scores), scores, metrics=SHOWN)
    own_seconds = time.perf_counter() - began
    out.print(metrics_table(results, title=f"{test.n_rows:,} packages not seen in training"))
    out.print(
        f"The papers' {len(models)} methods fitted, predicted and measured in {seconds:.1f} s; "
        f"the blend of neighbours and linear models, with its own search, in {own_seconds:.1f} s."
    )
    _show_packages(blend, data, test)
    out.print("\nTry it on a page, and teach it: vicinal demo --serve")


def _name(model: "NeighborEstimator") -> str:
    """Return a method's short name."""
    variant = getattr(model, "variant", "base")
    return type(model).__name__ + ("" if variant == "base" else f"-{variant}")


def _show_packages(model: "NeighborEstimator", data: "Dataset", test: "Dataset") -> None:
    """Print true tags, predicted tags and scores of three test packages, evenly spread."""
    import numpy as np

    from vicinal.cli.answers import predictions

    several = np.flatnonzero(np.diff(test.Y.indptr) >= 3)
    chosen = several[np.linspace(0, len(several) - 1, 5, dtype=np.int64)[1:-1]]
    three = test.subset(chosen)
    answers = predictions(model, model.scores(three.X), three.row_names, top=6)
    for row, answer in enumerate(answers):
        true = three.Y.indices[three.Y.indptr[row] : three.Y.indptr[row + 1]]
        facts = {
            "true tags": ", ".join(data.label_names[label] for label in true),
            "predicted": ", ".join(answer.labels),
            "best scores": answer.best,
        }
        out.print()
        print_facts(str(answer.row), facts)
