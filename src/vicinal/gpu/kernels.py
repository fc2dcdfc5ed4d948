"""Triton kernels: scores of float16 pairs, and squared distances by the definition.

A block of queries is multiplied with one tile of rows after another; the products of a tile stay on
the chip. Rows and queries are two float16 matrices, the high and the low part
(:mod:`vicinal.gpu.search`), padded to complete blocks: a padded row has an infinite bias, so that
it scores −∞, and a padded query has an infinite threshold.
"""

import triton
import triton.language as tl


@triton.jit
def _tile_scores(
    queries_high: tl.tensor,
    queries_low: tl.tensor,
    rows_high: tl.tensor,
    rows_low: tl.tensor,
    biases: tl.tensor,
    of_query: tl.tensor,
    of_row: tl.tensor,
    depth: tl.tensor,
    DEPTH: tl.constexpr,
    QUERIES: tl.constexpr,
    ROWS: tl.constexpr,
) -> tl.tensor:
    """Return product − bias of a block of queries and a tile of rows, DEPTH features at a time."""
    scores = tl.zeros([QUERIES, ROWS], tl.float32)
    for start in range(0, depth, DEPTH):
        features = start + tl.arange(0, DEPTH)
        at_query = of_query.to(tl.int64)[:, None] * depth + features[None, :]
        at_row = of_row.to(tl.int64)[None, :] * depth + features[:, None]
        query_high = tl.load(queries_high + at_query)
        row_high = tl.load(rows_high + at_row)
        scores = tl.dot(query_high, row_high, scores)
        scores = tl.dot(query_high, tl.load(rows_low + at_row), scores)
        scores = tl.dot(tl.load(queries_low + at_query), row_high, scores)
    return scores - tl.load(biases + of_row)[None, :]


@triton.jit
def _held_scores(
    query_high: tl.tensor,
    query_low: tl.tensor,
    rows_high: tl.tensor,
    rows_low: tl.tensor,
    biases: tl.tensor,
    of_row: tl.tensor,
    DEPTH: tl.constexpr,
) -> tl.tensor:
    """Return product − bias when all features of the queries are already loaded."""
    at_row = of_row.to(tl.int64)[None, :] * DEPTH + tl.arange(0, DEPTH)[:, None]
    row_high = tl.load(rows_high + at_row)
    scores = tl.dot(query_high, row_high)
    scores = tl.dot(query_high, tl.load(rows_low + at_row), scores)
    scores = tl.dot(query_low, row_high, scores)
    return scores - tl.load(biases + of_row)[None, :]


@triton.jit
def best_of_tiles(
    queries_high: tl.tensor,
    queries_low: tl.tensor,
    rows_high: tl.tensor,
    rows_low: tl.tensor,
    biases: tl.tensor,
    sizes: tl.tensor,
    errors: tl.tensor,
    best: tl.tensor,
    n_queries: tl.tensor,
    n_tiles: tl.tensor,
    tiles_each: tl.tensor,
    depth: tl.tensor,
    HELD: tl.constexpr,
    DEPTH: tl.constexpr,
    QUERIES: tl.constexpr,
    ROWS: tl.constexpr,
) -> None:
    """Write the best score of each tile of rows, three errors taken off: shape (tiles, queries)."""
    of_query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    error = tl.load(errors + of_query)
    if HELD:
        held = of_query.to(tl.int64)[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
        query_high = tl.load(queries_high + held)
        query_low = tl.load(queries_low + held)
    first = tl.program_id(1) * tiles_each
    for tile in range(first, tl.minimum(first + tiles_each, n_tiles)):
        of_row = tile * ROWS + tl.arange(0, ROWS)
        if HELD:
            scores = _held_scores(query_high, query_low, rows_high, rows_low, biases, of_row, DEPTH)
        else:
            scores = _tile_scores(
                queries_high, queries_low, rows_high, rows_low, biases,
                of_query, of_row, depth, DEPTH, QUERIES, ROWS,
            )  # fmt: skip
        low = scores - 3.0 * error[:, None] * tl.load(sizes + of_row)[None, :]
        at = (tl.zeros([QUERIES], tl.int64) + tile) * n_queries + of_query
        tl.store(best + at, tl.max(low, 1))


@triton.jit
def collect(
    queries_high: tl.tensor,
    queries_low: tl.tensor,
    rows_high: tl.tensor,
    rows_low: tl.tensor,
    biases: tl.tensor,
    sizes: tl.tensor,
    errors: tl.tensor,
    thresholds: tl.tensor,
    own: tl.tensor,
    counts: tl.tensor,
    found_ids: tl.tensor,
    found_high: tl.tensor,
    n_tiles: tl.tensor,
    tiles_each: tl.tensor,
    depth: tl.tensor,
    ROOM: tl.constexpr,
    HELD: tl.constexpr,
    DEPTH: tl.constexpr,
    QUERIES: tl.constexpr,
    ROWS: tl.constexpr,
) -> None:
    """Write each row that may reach the query's threshold; excess rows are only counted."""
    of_query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    error = tl.load(errors + of_query)
    threshold = tl.load(thresholds + of_query)
    itself = tl.load(own + of_query)
    if HELD:
        held = of_query.to(tl.int64)[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
        query_high = tl.load(queries_high + held)
        query_low = tl.load(queries_low + held)
    first = tl.program_id(1) * tiles_each
    for tile in range(first, tl.minimum(first + tiles_each, n_tiles)):
        of_row = tile * ROWS + tl.arange(0, ROWS)
        if HELD:
            scores = _held_scores(query_high, query_low, rows_high, rows_low, biases, of_row, DEPTH)
        else:
            scores = _tile_scores(
                queries_high, queries_low, rows_high, rows_low, biases,
                of_query, of_row, depth, DEPTH, QUERIES, ROWS,
            )  # fmt: skip
        high = scores + error[:, None] * tl.load(sizes + of_row)[None, :]
        keep = (high >= threshold[:, None]) & (of_row[None, :] != itself[:, None])
        counter = tl.broadcast_to(counts + of_query[:, None], [QUERIES, ROWS])
        ones = tl.full([QUERIES, ROWS], 1, tl.int32)
        place = tl.atomic_add(counter, ones, mask=keep, sem="relaxed")
        keep = keep & (place < ROOM)
        at = of_query[:, None] * ROOM + place
        tl.store(found_ids + at, tl.broadcast_to(of_row[None, :], [QUERIES, ROWS]), mask=keep)
        tl.store(found_high + at, high, mask=keep)


@triton.jit
def squared_distances(
    rows: tl.tensor,
    queries: tl.tensor,
    ids: tl.tensor,
    sums: tl.tensor,
    n_queries: tl.tensor,
    n_features: tl.tensor,
    width: tl.tensor,
    QUERIES: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """Write the squared distances of chosen rows; launch with ``enable_fp_fusion=False``."""
    of_query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    slot = tl.arange(0, WIDTH)
    there = (of_query < n_queries)[:, None] & (slot < width)[None, :]
    at = of_query.to(tl.int64)[:, None] * width + slot[None, :]
    chosen = tl.load(ids + at, mask=there, other=-1)
    real = chosen >= 0
    row = chosen.to(tl.int64) * n_features
    query = of_query.to(tl.int64) * n_features
    total = tl.zeros([QUERIES, WIDTH], tl.float64)
    for j in range(n_features):
        value = tl.load(queries + query + j, mask=of_query < n_queries, other=0.0).to(tl.float64)
        other = tl.load(rows + row + j, mask=real, other=0.0).to(tl.float64)
        difference = value[:, None] - other
        total = total + difference * difference
    tl.store(sums + at, total, mask=there)
