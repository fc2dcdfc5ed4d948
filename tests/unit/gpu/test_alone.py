"""The device layer runs where neither the compiled core nor scikit-learn nor SciPy is."""

import subprocess
import sys
import textwrap

ALONE = """
    import sys

    REFUSED = ("sklearn", "scipy", "vicinal._native", "threadpoolctl", "rich", "typer")

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if any(name == given or name.startswith(given + ".") for given in REFUSED):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Refuse())
    import numpy as np
    import vicinal
    from vicinal.gpu import DenseSearch, ProjectionLoss

    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    ids, values = DenseSearch.of(X, device="cpu").self_graph(1)
    assert ids.ravel().tolist() == [1, 0, 3, 2] and values.ravel().tolist() == [1.0] * 4
    loss = ProjectionLoss(X, np.array([0, 1, 2, 2, 2]), np.array([0, 0]), 1, k=1, device="cpu")
    assert loss(np.eye(1)) == 0.0
    try:
        vicinal.MLkNN
    except ModuleNotFoundError:
        print("alone")
"""

WITHOUT_TORCH = """
    import sys

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name == "torch":
                raise ModuleNotFoundError("No module named 'torch'", name=name)

    sys.meta_path.insert(0, Refuse())
    from vicinal.index import DenseIndex

    assert DenseIndex([[0.0], [1.0]]).query_self(1).ids.ravel().tolist() == [1, 0]
    try:
        DenseIndex([[0.0]], backend="torch")
    except ImportError as error:
        print(error)
"""


def run(code):
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_search_and_loss_without_the_rest():
    assert run(ALONE) == "alone\n"


def test_without_torch_the_extra_is_named():
    assert "torch is needed" in (said := run(WITHOUT_TORCH))
    assert "pip install 'vicinal[gpu]'" in said
