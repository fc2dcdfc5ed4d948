"""The diagram: what is written, that it is repeatable, and that nothing overlaps."""

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from vicinal.comparison import critical_difference_diagram, friedman_nemenyi
from vicinal.comparison.diagram import assign_lanes

TABLE = {"A": [9, 8, 9, 7], "B <&> $x_1": [5, 6, 5, 8], "C": [1, 2, 3, 1]}


def texts(svg: Path) -> list[str]:
    root = ET.fromstring(svg.read_text(encoding="utf-8"))
    return ["".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("}text")]


def test_names_ranks_and_the_critical_difference_are_written(tmp_path: Path) -> None:
    svg, png = critical_difference_diagram(TABLE, tmp_path / "ranks.png", title="micro-f1")
    assert (svg, png) == (tmp_path / "ranks.svg", tmp_path / "ranks.png")
    said = [" ".join(text.split()) for text in texts(svg)]
    wanted = ["1", "2", "3", "CD = 1.66 (α = 0.05)", "A 1.25", "B <&> $x_1 1.75", "3.00 C"]
    assert said == [*wanted, "micro-f1"]
    shape = imread(png).shape
    assert shape[1] > 800
    assert shape[1] > shape[0]


def test_better_and_alpha_are_used(tmp_path: Path) -> None:
    svg, _ = critical_difference_diagram(TABLE, tmp_path / "low", alpha=0.1, better="low")
    said = " ".join(" ".join(texts(svg)).split())
    apart = friedman_nemenyi(TABLE, 0.1).critical_difference
    assert f"CD = {apart:.2f} (α = 0.1)" in said
    assert "C 1.00" in said


def test_the_same_table_gives_the_same_files(tmp_path: Path) -> None:
    one = critical_difference_diagram(TABLE, tmp_path / "one.v1")
    two = critical_difference_diagram(TABLE, tmp_path / "two.v1")
    assert one[0].name == "one.v1.svg"
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("n_methods", [2, 5, 40])
def test_few_and_many_methods(tmp_path: Path, n_methods: int) -> None:
    rng = np.random.default_rng(n_methods)
    table = {f"method {at}": scores for at, scores in enumerate(rng.normal(size=(n_methods, 6)))}
    svg, _ = critical_difference_diagram(table, tmp_path / "many")
    said = " ".join(" ".join(texts(svg)).split())
    assert all(name in said for name in table)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=9))
def test_bars_in_a_lane_do_not_overlap(spans: list[tuple[int, int]]) -> None:
    bars = sorted((float(start), float(start + length)) for start, length in spans)
    lanes = assign_lanes(bars)
    for i, (a, b) in enumerate(bars):
        for j, (c, d) in enumerate(bars[:i]):
            assert lanes[i] != lanes[j] or d < a or b < c
