"""Names are loaded when first asked for, and nothing is lost by it."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import vicinal

pytestmark = pytest.mark.native


def run(code, *arguments):
    found = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_importing_the_package_loads_little():
    code = "import sys, vicinal; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    assert run(code) == "False False"


def test_everything_is_listed_and_nothing_else_is_there():
    assert {*vicinal.__all__, "__version__"} <= set(dir(vicinal))
    assert vicinal.__version__.count(".") == 2
    for package in (vicinal, vicinal.reduction):
        with pytest.raises(AttributeError, match="nothing"):
            _ = package.nothing


def test_packages_and_saved_projections_are_loaded_where_nobody_imported_them(tmp_path):
    X, Y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(60).reshape(30, 2) % 3 % 2
    model = make_pipeline(vicinal.reduction.MDDM(1), vicinal.MLkNN(3)).fit(X, Y)
    vicinal.save(model, tmp_path / "model")
    code = """import sys, vicinal
print(vicinal.metrics.hamming_loss([[1, 0]], [[1, 1]]))
from vicinal.methods import load
assert "vicinal.reduction.mddm" not in sys.modules
print(type(load(sys.argv[1])[0]).__name__)"""
    assert run(code, str(tmp_path / "model")).split() == ["0.5", "MDDM"]
