"""XR-Linear and Omikuji, run in an environment of their own: ``quality_peers.py NAME FOLDER``.

Reads X, Y and Q from the folder and writes there the scores of Q, the seconds that they took, and
the MB of this process before.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

TOP = 100
"""Labels scored per row."""


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

    path = Path(sys.argv[2]) / "train.txt"
    with path.open("w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for row in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]))
            here = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[here], X.data[here], strict=True)
            file.write(labels + "".join(f" {j}:{value:.6g}" for j, value in pairs) + "\n")
    model = omikuji.Model.train_on_data(str(path), omikuji.Model.default_hyper_param(), 2)
    scores = sparse.lil_matrix((Q.shape[0], Y.shape[1]))
    for row in range(Q.shape[0]):
        here = slice(Q.indptr[row], Q.indptr[row + 1])
        cells = [(int(j), float(v)) for j, v in zip(Q.indices[here], Q.data[here], strict=True)]
        for label, value in model.predict(cells, top_k=TOP):
            scores[row, label] = value
    return scores


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    X, Y, Q = (sparse.csr_matrix(sparse.load_npz(folder / f"{key}.npz")) for key in "XYQ")
    run = {"xr-linear": xr_linear, "omikuji": omikuji_parabel}[sys.argv[1]]
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    (folder / "memory.txt").write_text(str(pages * 4096 / 1e6))
    start = time.perf_counter()
    scores = run(X, Y, Q)
    (folder / "seconds.txt").write_text(str(time.perf_counter() - start))
    sparse.save_npz(folder / "scores.npz", sparse.csr_matrix(scores))
