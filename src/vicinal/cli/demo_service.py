"""``vicinal demo --serve``: serve a model of the embedded data, with a web page."""

import tempfile
from pathlib import Path

from sklearn.pipeline import Pipeline

from vicinal.cli.output import say
from vicinal.cli.serve import start
from vicinal.datasets import Dataset, load
from vicinal.estimators import MLkNN, NeighborEstimator, save
from vicinal.preprocess import TextVectorizer

EXAMPLES = (
    ("a music player", "Plays Ogg, FLAC and MP3 music files in a terminal, with playlists"),
    (
        "a game",
        "A fast multiplayer car racing game with OpenGL graphics and network play",
    ),
    ("a library", "Shared library and development headers for parsing XML documents in C"),
    ("a web server", "Small and fast HTTP server with support for CGI and virtual hosts"),
    ("a font", "Scalable TrueType fonts for Thai and Latin text"),
    ("science", "Command line tool that aligns DNA sequences for molecular biology research"),
)


def serve_demo(neighbors: int, port: int) -> None:
    """Train on the embedded data, save the model in a temporary folder and serve it."""
    data = load("debtags")
    say(f"Training ML-kNN on {data.n_rows:,} Debian packages …")
    model = text_model(data, MLkNN(neighbors, metric="cosine"))
    with tempfile.TemporaryDirectory(prefix="vicinal-demo-") as folder:
        path = Path(folder) / "debtags"
        save(model, path)
        say("The model and what you teach it are removed when the service stops.")
        store = Path(folder) / "taught.sqlite"
        start({"debtags": path}, "127.0.0.1", port, store, None, None, examples=EXAMPLES)


def text_model(data: Dataset, estimator: NeighborEstimator) -> Pipeline:
    """Fit a model that reads texts, on a data set whose columns are words."""
    words = TextVectorizer(weighting="binary")
    words.vocabulary_ = {word: column for column, word in enumerate(data.feature_names)}
    words.idf_ = None
    estimator.fit(data.X, data.Y, label_names=data.label_names)
    return Pipeline([("words", words), ("estimator", estimator)])
