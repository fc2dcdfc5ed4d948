"""``vicinal train --cluster``: the model is the one that training on this machine gives."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra [cluster]")

from typer.testing import CliRunner

import vicinal
from vicinal.cli.program import app
from vicinal.cluster import connected
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.generated import zipf_rows
from vicinal.datasets.xc import write_xc
from vicinal.errors import InvalidArgumentError
from vicinal.methods.blend import scoring

pytestmark = [
    pytest.mark.native,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("method", ["instance-knn", "blend"])
def test_train_on_a_cluster(cluster, tmp_path, method, monkeypatch):
    monkeypatch.setattr(scoring, "LEAST_TASK", 8)
    X = zipf_rows(500, 200, 1, 8).astype(np.float64)
    Y = zipf_rows(500, 12, 2, 2).astype(np.int32)
    names = [f"feature{i}" for i in range(200)], [f"label{i}" for i in range(12)]
    file = tmp_path / "d.xc.txt"
    write_xc(Dataset(X=X, Y=Y, feature_names=names[0], label_names=names[1]), file)
    variants = {
        "plain": [],
        "sent": ["--cluster", cluster.scheduler_address],
        "shared": ["--cluster", cluster.scheduler_address, "--out-of-core", tmp_path / "rows"],
    }
    models = {}
    for name, options in variants.items():
        words = ["train", file, "-o", tmp_path / name, "--method", method, *options]
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exception is None, result.output
        models[name] = vicinal.load(tmp_path / name)
    wanted = models["plain"].predict(X)
    for name in ("sent", "shared"):
        assert np.array_equal(models[name].predict(X).toarray(), wanted.toarray())
        for scores, known in zip(models[name].rank(X, 5), models["plain"].rank(X, 5), strict=True):
            assert np.array_equal(scores, known)


def test_a_wrong_address_is_named():
    found = pytest.raises(InvalidArgumentError, match="address of a Dask scheduler")
    with found, connected("tcp://127.0.0.1:1", timeout=0.5):
        pass
