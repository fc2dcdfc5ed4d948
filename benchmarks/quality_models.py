"""The models that are compared: each returns scores of test rows, and of training rows left out.

A model sees the labels of training rows only. Peers get their regularisation by the micro-F1 of
3-fold scores on the training rows, and so do all thresholds (see ``quality_scores``).
"""

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.quality_split import Split, fold_ids, small_csr, standardised, tfidf
from vicinal import Blend
from vicinal._core.arrays import Csr
from vicinal.decision import MetricThreshold
from vicinal.methods import METHODS
from vicinal.methods._formulas import best_micro_f1
from vicinal.methods.blend import THRESHOLD, BlendScoring
from vicinal.scores import Scores

KEPT = 100
"""Best scores of a row that are kept; the others count as lower than any."""
ONE_FOLD = 100_000_000
"""Training rows × labels past which thresholds come from one of three folds."""
LABEL_PARTS = 16
"""Groups of labels that one-vs-rest models are divided into among processes."""
BLOCK = 4096
"""Rows whose scores are looked at together."""
FEW_FITS = 2_000_000
"""Training rows × labels up to which a peer's regularisation is chosen among several."""

COUNTED = MetricThreshold("micro-f1")
"""The threshold of models without a rule of their own."""

Rows = NDArray[np.float64]
Fit = Callable[[Csr, Csr, Csr, float], Rows]
"""From training rows, their labels, other rows and C: scores of the other rows."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says.

    Parameters
    ----------
    test : Scores
        Of the test rows.
    training : Scores
        Of training rows, each by a model that has not seen it.
    training_rows : ndarray of int64
        Which training rows those are.
    is_probability : bool
    settings : str
    rule : MetricThreshold
        The threshold for micro-F1.
    """

    test: Scores
    training: Scores
    training_rows: NDArray[np.int64]
    is_probability: bool
    settings: str
    rule: MetricThreshold = COUNTED


def blend(split: Split) -> Answers:
    """Fit ``Blend()`` on the rows as they are."""
    model = Blend().fit(split.X, split.Y)
    scoring = model.scoring_
    if not isinstance(scoring, BlendScoring) or scoring.held_out is None:
        raise RuntimeError("a fitted blend holds training scores")
    held_out = scoring.held_out
    test = model.scores(split.X_test)
    return Answers(test, held_out.scores, held_out.rows, True, "Blend()", THRESHOLD)


def linear_svc_scores(X: Csr, Y: Csr, Q: Csr, C: float) -> Rows:
    """Return the scores of the rows `Q` by one LinearSVC per label."""

    def fit(X: Csr, y: NDArray[np.int32], Q: Csr, C: float) -> Rows:
        found: Rows = LinearSVC(C=C, random_state=0).fit(X, y).decision_function(Q)
        return found

    return _one_vs_rest(fit, -1.0)(X, Y, Q, C)


def linear_svc(split: Split) -> Answers:
    """Fit one LinearSVC per label."""
    return _cross_validated(split, linear_svc_scores, (0.1, 1.0, 10.0), 1.0, False)


def logistic(split: Split) -> Answers:
    """Fit one logistic regression per label."""

    def fit(X: Csr, y: NDArray[np.int32], Q: Csr, C: float) -> Rows:
        model = LogisticRegression(C=C, solver="liblinear", random_state=0).fit(X, y)
        return np.asarray(model.predict_proba(Q)[:, 1])

    return _cross_validated(split, _one_vs_rest(fit, 0.0), (1.0, 10.0, 100.0), 10.0, True)


def random_forest(split: Split) -> Answers:
    """Fit a forest of 500 trees for all labels, for dense rows."""

    def fit(X: Csr, Y: Csr, Q: Csr, C: float) -> Rows:
        forest = RandomForestClassifier(500, n_jobs=-1, random_state=0)
        found = forest.fit(X.toarray(), Y.toarray()).predict_proba(Q.toarray())
        return np.column_stack([p[:, 1] if p.shape[1] > 1 else np.zeros(len(p)) for p in found])

    return _cross_validated(split, fit, (1.0,), 1.0, True)


def own_method(name: str) -> Callable[[Split], Answers]:
    """Return another method of vicinal, with the parameters it has by default."""

    def run(split: Split) -> Answers:
        method: Any = METHODS[name]
        metric = "euclidean" if split.is_dense else "cosine"

        def fit(X: Csr, Y: Csr, Q: Csr, C: float) -> Rows:
            return np.asarray(method(metric=metric).fit(X, Y).scores(Q).toarray())

        return replace(_cross_validated(split, fit, (1.0,), 1.0, False), settings="defaults")

    return run


def other_environment(name: str, python: Path) -> Callable[[Split], Answers]:
    """Return XR-Linear, or Omikuji as Parabel (``"omikuji"``) or Bonsai, run by `python`."""

    def fit(X: Csr, Y: Csr, Q: Csr, C: float) -> Rows:
        with tempfile.TemporaryDirectory() as folder:
            for key, matrix in (("X", X), ("Y", Y), ("Q", Q)):
                sparse.save_npz(Path(folder) / f"{key}.npz", sparse.csr_matrix(matrix))
            script = Path(__file__).with_name("quality_peers.py")
            subprocess.run([python, script, name, folder], check=True, capture_output=True)
            found = sparse.csr_array(sparse.load_npz(Path(folder) / "scores.npz"))
        return found.toarray()

    def run(split: Split) -> Answers:
        answers = _cross_validated(split, fit, (1.0,), 1.0, True)
        return replace(answers, settings="defaults")

    return run


def _one_vs_rest(fit: Callable[[Csr, NDArray[np.int32], Csr, float], Rows], absent: float) -> Fit:
    """Return a fit of one model per label; labels of all rows or none score `absent`."""

    def fit_some(X: Csr, columns: sparse.csc_array, Q: Csr, C: float) -> Rows:
        scores = np.full((Q.shape[0], columns.shape[1]), absent)
        for label in range(columns.shape[1]):
            y = columns[:, [label]].toarray().ravel()
            if 0 < y.sum() < len(y):
                scores[:, label] = fit(X, y, Q, C)
        return scores

    def fit_all(X: Csr, Y: Csr, Q: Csr, C: float) -> Rows:
        columns = sparse.csc_array(Y)
        n_parts = min(Y.shape[1], LABEL_PARTS)
        # Processes, because liblinear's random numbers are shared by the threads of a process.
        parts = Parallel(n_jobs=-1)(
            delayed(fit_some)(X, columns[:, part], Q, C)
            for part in np.array_split(np.arange(Y.shape[1]), n_parts)
        )
        return np.concatenate(parts, axis=1)

    return fit_all


def _cross_validated(
    split: Split, fit: Fit, tried: Sequence[float], usual: float, is_probability: bool
) -> Answers:
    """Fit a peer, with 3-fold scores of the training rows to choose C and thresholds on."""
    prepare = standardised if split.is_dense else tfidf
    X, Q = prepare(split.X, [split.X_test])
    n_rows, n_labels = split.Y.shape
    if n_rows * n_labels > FEW_FITS:
        tried = (usual,)
    n_folds = 1 if n_rows * n_labels > ONE_FOLD else 3
    fold_of = fold_ids(n_rows)
    judged = np.flatnonzero(fold_of < n_folds)
    best, chosen = None, usual
    for C in tried:
        held_out = np.empty((n_rows, n_labels), dtype=np.float32)
        for fold in range(n_folds):
            out, kept = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
            held_out[out] = fit(_some(X, kept), split.Y[kept], _some(X, out), C)
        scores = best_labels(held_out[judged])
        value = best_micro_f1(scores, split.Y[judged])
        if best is None or value > best[0]:
            best, chosen = (value, scores), C
    if best is None:
        raise RuntimeError("no value of C was tried")
    found = best_labels(fit(X, split.Y, Q, chosen))
    return Answers(found, best[1], judged, is_probability, f"C={chosen:g}")


def _some(X: Csr, rows: NDArray[np.int64]) -> Csr:
    """Return some rows, with 32-bit ids."""
    chosen = X[rows]
    return small_csr(chosen.data, chosen)


def best_labels(scores: NDArray[np.floating]) -> Scores:
    """Return the KEPT best scores of each row as sparse scores above all others."""
    n_rows, n_labels = scores.shape
    width = min(KEPT, n_labels)
    labels = np.empty((n_rows, width), dtype=np.int32)
    for start in range(0, n_rows, BLOCK):
        block = slice(start, start + BLOCK)
        labels[block] = np.argpartition(-scores[block], width - 1, axis=1)[:, :width]
    labels.sort(axis=1)
    values = np.take_along_axis(scores, labels, axis=1).astype(np.float64).ravel()
    lowest = float(scores.min()) - 1.0
    indptr = np.arange(n_rows + 1) * width
    stored = sparse.csr_array((values, labels.ravel(), indptr), shape=scores.shape)
    return Scores.sparse(stored, base=np.full(n_labels, lowest))
