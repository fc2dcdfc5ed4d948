"""XR-Linear and Omikuji in an environment of their own: ``quality_peers.py NAME FOLDER``.

Reads X, Y and Q from the folder and writes there the scores of Q, what they took, and the MB of
this process before.
"""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

TOP = 100
"""Labels scored per row."""
ROWS = "train.txt"


def xr_linear(X: sparse.csr_matrix, Y: sparse.csr_matrix, Q: sparse.csr_matrix) -> Any:
    """PECOS XR-Linear with its own defaults: PIFA embeddings, hierarchical 2-means."""
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    X, Y, Q = (matrix.astype(np.float32) for matrix in (X, Y, Q))
    embedding = LabelEmbeddingFactory.create(Y, X, method="pifa")
    clusters = Indexer.gen(embedding, indexer_type="hierarchicalkmeans")
    model = XLinearModel.train(X, Y, C=clusters, threshold=0.01)
    return model.predict(Q, only_topk=TOP, beam_size=TOP)


def omikuji_parabel(X: sparse.csr_matrix, Y: sparse.csr_matrix, Q: sparse.csr_matrix) -> Any:
    """Omikuji with its defaults, which are those of Parabel: three trees."""
    import omikuji

    return _omikuji_scores(Y, Q, omikuji.Model.default_hyper_param())


def omikuji_bonsai(X: sparse.csr_matrix, Y: sparse.csr_matrix, Q: sparse.csr_matrix) -> Any:
    """Omikuji as Bonsai: shallow trees of up to 100 unbalanced clusters."""
    import omikuji

    settings = omikuji.Model.default_hyper_param()
    settings.cluster_balanced = False
    settings.cluster_k = 100
    settings.max_depth = 3
    return _omikuji_scores(Y, Q, settings)


def _omikuji_scores(Y: sparse.csr_matrix, Q: sparse.csr_matrix, settings: Any) -> Any:
    """Train on the file of the training rows, and score rows."""
    import omikuji

    model = omikuji.Model.train_on_data(str(Path(sys.argv[2]) / ROWS), settings, 2)
    labels, values, starts = [], [], [0]
    for row in range(Q.shape[0]):
        here = slice(Q.indptr[row], Q.indptr[row + 1])
        cells = [(int(j), float(v)) for j, v in zip(Q.indices[here], Q.data[here], strict=True)]
        for label, value in sorted(model.predict(cells, top_k=TOP)):
            labels.append(label)
            values.append(value)
        starts.append(len(labels))
    return sparse.csr_matrix((values, labels, starts), shape=(Q.shape[0], Y.shape[1]))


def write_rows(X: sparse.csr_matrix, Y: sparse.csr_matrix, path: Path) -> None:
    """Write the training rows as Omikuji reads them."""
    with path.open("w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for row in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]))
            here = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[here], X.data[here], strict=True)
            file.write(labels + "".join(f" {j}:{value:.6g}" for j, value in pairs) + "\n")


RUNS = {"xr-linear": xr_linear, "omikuji": omikuji_parabel, "bonsai": omikuji_bonsai}

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    X, Y, Q = (sparse.csr_matrix(sparse.load_npz(folder / f"{key}.npz")) for key in "XYQ")
    if sys.argv[1] != "xr-linear":
        write_rows(X, Y, folder / ROWS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    before_mb = pages * 4096 / 1e6
    (folder / "memory.txt").write_text(str(before_mb))
    start, used = time.perf_counter(), time.process_time()
    scores = RUNS[sys.argv[1]](X, Y, Q)
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}
    spent["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - before_mb
    (folder / "seconds.txt").write_text(str(spent["seconds"]))
    (folder / "spent.json").write_text(json.dumps(spent))
    sparse.save_npz(folder / "scores.npz", sparse.csr_matrix(scores))
