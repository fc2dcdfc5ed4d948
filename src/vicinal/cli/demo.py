"""``vicinal demo``: train, evaluate and predict on the embedded data."""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.output import errors, out, print_facts, say
from vicinal.cli.serve import PortOption, start

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from vicinal.datasets import Dataset
    from vicinal.graph import NeighborGraph
    from vicinal.methods import Blend, NeighborEstimator


SHOWN = (
    "subset-accuracy", "example-f1", "micro-f1", "macro-f1",
    "hamming-loss", "one-error", "ranking-loss", "average-precision",
)  # fmt: skip


def demo(
    neighbors: Annotated[
        int, typer.Option(help="Number of neighbours of the papers' methods.", min=1)
    ] = 10,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve a model of the embedded data, with a web page.")
    ] = False,
    port: PortOption = 8000,
) -> None:
    """Learn the tags of Debian packages from the words that describe them, and show the result."""
    from vicinal.datasets import load
    from vicinal.metrics import metrics_table

    if serve:
        serve_demo(port)
        return
    data = load("debtags")
    print_facts("Data: tags of Debian packages", data.statistics())
    _, test = data.split()
    results, seconds = _published_methods(data, neighbors)
    began = time.perf_counter()
    blend, results["Blend"] = _blend(data)
    own_seconds = time.perf_counter() - began
    out.print(metrics_table(results, title=f"{test.n_rows:,} packages not seen in training"))
    out.print(
        f"The papers' {len(results) - 1} methods were fitted, predicted and measured in "
        f"{seconds:.1f} s; the blend, which `vicinal train` makes, with its own searches in "
        f"{own_seconds:.1f} s."
    )
    _show_packages(blend, data, test)
    _teach_package(blend, data, test)
    out.print("\nTry it on a web page, and teach it: vicinal demo --serve")


def _published_methods(
    data: "Dataset", neighbors: int
) -> tuple[dict[str, dict[str, float]], float]:
    """Return the metrics of methods from the papers, all from one search, and their seconds."""
    from vicinal.index import build_index
    from vicinal.methods import LCIF, InstanceKNN, LPkNN, MLkNN

    train, test = data.split()
    began = time.perf_counter()
    index = build_index(train.X, "cosine")
    training_graph, test_graph = index.query_self(neighbors), index.query(test.X, neighbors)
    searched = time.perf_counter()
    out.print(
        f"\nThe {neighbors} nearest neighbours of all {data.n_rows:,} packages, searched once "
        f"for the papers' four methods: {searched - began:.1f} s.\n"
    )
    models: dict[str, NeighborEstimator] = {
        "LPkNN": LPkNN(neighbors, metric="cosine"),
        "MLkNN": MLkNN(neighbors, metric="cosine"),
        "InstanceKNN": InstanceKNN(neighbors),
        "LCIF": LCIF(neighbors, neighbors),
    }
    results = {}
    for name, model in models.items():
        model.fit(train.X, train.Y, graph=training_graph, label_names=data.label_names)
        results[name] = _measured(model, test, test_graph)
    return results, time.perf_counter() - searched


def _blend(data: "Dataset") -> "tuple[Blend, dict[str, float]]":
    """Return the fitted blend and its metrics."""
    from vicinal.methods import Blend

    train, test = data.split()
    with errors.status("Learning the blend"):
        blend = Blend().fit(train.X, train.Y, label_names=data.label_names)
        return blend, _measured(blend, test, None)


def _measured(
    model: "NeighborEstimator", test: "Dataset", graph: "NeighborGraph | None"
) -> dict[str, float]:
    """Return the metrics of a fitted model on the test rows."""
    from vicinal.metrics import evaluate

    scores = model.scores(test.X, graph=graph)
    return evaluate(test.Y, model.decide(scores), scores, metrics=SHOWN)


def _show_packages(model: "NeighborEstimator", data: "Dataset", test: "Dataset") -> None:
    """Print the true tags, predicted tags and best scores of three test packages."""
    import numpy as np

    from vicinal.cli.predict import predictions

    several = np.flatnonzero(np.diff(test.Y.indptr) >= 3)
    chosen = several[np.linspace(0, len(several) - 1, 5, dtype=np.int64)[1:-1]]
    three = test.subset(chosen)
    predicted = predictions(model, model.scores(three.X), three.row_names, top=6)
    for row, prediction in enumerate(predicted):
        true = three.Y.indices[three.Y.indptr[row] : three.Y.indptr[row + 1]]
        facts = {
            "true tags": ", ".join(data.label_names[label] for label in true),
            "predicted": ", ".join(prediction.labels),
            "best scores": prediction.best,
        }
        out.print()
        print_facts(str(prediction.row), facts)


def _teach_package(model: "Blend", data: "Dataset", test: "Dataset") -> None:
    """Teach the model the tags of a package that it predicted badly, and ask again."""
    import numpy as np

    n_tags = np.diff(test.Y.indptr)
    some = test.subset(np.flatnonzero((n_tags >= 3) & (n_tags <= 8))[:200])
    wrong = abs(model.predict(some.X) - some.Y).sum(axis=1)
    chosen = some.subset([int(np.argmax(wrong))])
    true = [data.label_names[label] for label in chosen.Y.indices.tolist()]
    before = model.predict_names(chosen.X)[0]
    began = time.perf_counter()
    model.partial_fit(chosen.X, [true])
    learned = time.perf_counter()
    after = model.predict_names(chosen.X)[0]
    asked = time.perf_counter()
    out.print("\nTeach the blend one package, and ask again:\n")
    name = chosen.row_names[0] if chosen.row_names is not None else "the package"
    facts = {
        "predicted before": ", ".join(before),
        "taught": ", ".join(true),
        "predicted after": ", ".join(after),
        "learned in": f"{1000 * (learned - began):.1f} ms",
        "asked again in": f"{1000 * (asked - learned):.1f} ms",
    }
    print_facts(str(name), facts)


EXAMPLES = (
    ("a music player", "Plays Ogg, FLAC and MP3 music files in a terminal, with playlists"),
    ("a game", "A fast multiplayer car racing game with OpenGL graphics and network play"),
    ("a library", "Shared library and development headers for parsing XML documents in C"),
    ("a web server", "Small and fast HTTP server with support for CGI and virtual hosts"),
    ("a font", "Scalable TrueType fonts for Thai and Latin text"),
    ("science", "Command line tool that aligns DNA sequences for molecular biology research"),
)


def serve_demo(port: int) -> None:
    """Train the default model on the embedded data, save it in a temporary folder and serve it."""
    from vicinal.datasets import load
    from vicinal.methods import Blend, save

    data = load("debtags")
    with errors.status(f"Training on {data.n_rows:,} Debian packages"):
        model = text_model(data, Blend())
    with tempfile.TemporaryDirectory(prefix="vicinal-demo-") as folder:
        path = Path(folder) / "debtags"
        save(model, path)
        say("The model and what you teach it are removed when the service stops.")
        store = Path(folder) / "taught.sqlite"
        start({"debtags": path}, "127.0.0.1", port, store, None, None, examples=EXAMPLES)


def text_model(data: "Dataset", estimator: "NeighborEstimator") -> "Pipeline":
    """Fit a model that reads texts, on a data set whose columns are words."""
    from sklearn.pipeline import Pipeline

    from vicinal.preprocess import TextVectorizer

    words = TextVectorizer(weighting="binary")
    words.vocabulary_ = {word: column for column, word in enumerate(data.feature_names)}
    words.idf_ = None
    estimator.fit(data.X, data.Y, label_names=data.label_names)
    return Pipeline([("words", words), ("estimator", estimator)])
