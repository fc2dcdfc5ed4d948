"""Random data that several tests draw from."""

import numpy as np
import pytest
from hypothesis import strategies as st

PALETTES = {
    "binary": [0.0, 0.0, 1.0],
    "same": [0.0, 0.3],
    "constant": [0.7],
    "counts": [0.0, 0.0, 1.0, 2.0, 3.0],
    "signed": [0.0, 1.0, -1.0, 2.0],
    "thirds": [0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7],
    "far from zero": [1e6, 1e6 + 1, 1e6 + 3],
    "large": [0.0, 1e150, -1e150, 2e150],
    "small": [0.0, 1e-150, 3e-150],
    "float32 range": [0.0, 1e30, 1e-30, 1.0, -1e30],
    "beyond squares": [0.0, 1e-200, 1e200, 1e-170, 1.0, -1e200],
}


@st.composite
def problems(draw, most_rows):
    palette = PALETTES[draw(st.sampled_from(sorted(PALETTES)))]
    m = draw(st.integers(0, 8))
    n, n_queries = draw(st.integers(0, most_rows)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fill = draw(st.sampled_from([0.2, 0.6, 1.0]))
    X, Q = (
        rng.choice(palette, size=(rows, m)) * (rng.random((rows, m)) < fill)
        for rows in (n, n_queries)
    )
    if n > 2:
        X[rng.integers(n)] = X[rng.integers(n)]
    if n and n_queries:
        Q[0] = X[rng.integers(n)]
    if np.abs(X).max(initial=0) < 1e38 and draw(st.booleans()):
        X = X.astype(np.float32)
    return X, Q, draw(st.integers(1, 12))


@pytest.fixture(scope="session")
def search_problems():
    """Return what gives, for a number of rows at most, a strategy of rows, queries and a k.

    Full of ties, duplicates and empty rows, of every scale, with no rows or features at all.
    """
    return problems
