"""The forms of an explanation: values, JSON, page, terminal, shap."""

import dataclasses
import io
import json
import sys
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from vicinal.errors import InvalidArgumentError
from vicinal.explanation import (
    Breakdown,
    Explanation,
    Explanations,
    LabelExplanation,
    Neighbor,
    Part,
    Removal,
    Terms,
    Word,
)
from vicinal.explanation.explanation_page import marked, steps

EVIL = '<script>alert("x")</script>&'


@pytest.fixture
def explanation():
    parts = [
        Part("neighbor", "row one", 0.5, 3, 0.9, True),
        Part("neighbor", EVIL, 0.0, 7, 0.8, False),
        Part("feature", "boat", -0.25, 1, 2.0),
    ]
    one = LabelExplanation(
        "sea",
        0.5,
        True,
        "score",
        0.5,
        0.25,
        parts,
        {"votes": 1, "prior": 0.125},
        [Part("feature", "boat", 0.5, 1)],
        [Removal("neighbor", (3,), ("row one",), 0.125)],
    )
    other = LabelExplanation(EVIL, 0.9, False, "log-odds", 2.2, 2.2, [])
    near = Neighbor(3, EVIL, 0.9, ("sea",), [Part("feature", "boat", 0.9, 1)], "A boat", [])
    text = f"The boat {EVIL}"
    return Explanation(
        EVIL, "LCIF", "cosine", ("sea",), [one, other], [near], text, [Word(4, 8, ("boat",))]
    )


def test_values_are_frozen_and_short_to_print(explanation):
    with pytest.raises(dataclasses.FrozenInstanceError):
        explanation.method = "other"
    assert len(repr(explanation)) < 200
    assert repr(explanation.labels[0]) == "LabelExplanation('sea', score=0.5, 3 parts)"
    assert repr(Explanations([explanation] * 3)) == "Explanations of 3 rows"


def test_labels_are_found_by_name(explanation):
    assert explanation["sea"] is explanation.labels[0]
    with pytest.raises(InvalidArgumentError, match="an explained label"):
        explanation["land"]


def test_json_holds_everything(explanation):
    plain = json.loads(explanation.to_json())
    assert plain == json.loads(json.dumps(explanation.to_dict()))
    first = plain["labels"][0]
    assert first["base"] + sum(part["share"] for part in first["parts"]) == first["value"]
    assert first["parts"][2] == {
        "kind": "feature",
        "name": "boat",
        "share": -0.25,
        "id": 1,
        "value": 2.0,
    }
    assert first["what_if"] == [
        {"kind": "neighbor", "ids": [3], "names": ["row one"], "score": 0.125}
    ]
    assert plain["words"] == [{"start": 4, "stop": 8, "features": ["boat"]}]
    assert json.loads(Explanations([explanation]).to_json()) == [plain]


class Tags(HTMLParser):
    """Elements and attributes of a page; each opened element must be closed."""

    def __init__(self):
        super().__init__()
        self.seen, self.open, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_loads_nothing(explanation):
    page = Explanations([explanation, explanation]).to_html()
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.seen)
    assert not [value for name, value in tags.attributes if name == "src"]
    links = [value for name, value in tags.attributes if name == "href"]
    assert links == ["#row-0", "#row-1"]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    assert ("content", policy) in tags.attributes
    assert "http:" not in page
    assert "https:" not in page
    assert EVIL not in page
    assert '<mark class="for-4" title="+0.5">boat</mark>' in page
    assert page == Explanations([explanation, explanation]).to_html()


def test_page_of_no_rows_and_of_an_empty_explanation():
    assert "0 rows" in Explanations().to_html()
    empty = Explanation(0, "BRkNN", "euclidean", (), [])
    assert "No label is predicted" in empty.to_html()
    assert empty._repr_html_().startswith("<iframe")


def test_write_html(explanation, tmp_path):
    path = Explanations([explanation]).write_html(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == explanation.to_html()


def test_terminal_shows_names_as_they_are(explanation):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(explanation)
    shown = console.export_text()
    for expected in ("sea: 0.5 (predicted)", "row one", "+0.5", "−0.25", EVIL, "votes: 1"):
        assert expected in shown
    assert "Not predicted without the neighbour “row one” (score 0.125)." in shown


def test_waterfall_goes_from_the_base_to_the_sum(explanation):
    bars = steps(explanation.labels[0], "cosine")
    assert bars[0].end == explanation.labels[0].base
    for before, after in pairwise(bars[:-1]):
        assert after.begin == before.end
    assert bars[-1].end == bars[-2].end == explanation.labels[0].value


def test_waterfall_sums_up_what_it_does_not_show():
    parts = [Part("feature", str(i), 0.01 * i, i) for i in range(1, 41)]
    total = sum(part.share for part in parts)
    bars = steps(LabelExplanation("x", total, True, "score", total, 0.0, parts), "cosine")
    assert len(bars) == 15
    assert bars[-2].name == "28 others"
    assert bars[-2].end == pytest.approx(total, abs=1e-12)


def test_marks_keep_the_text():
    words = [Word(0, 1, ("a",)), Word(2, 3, ("b",)), Word(2, 3, ("b",)), Word(4, 5, ("c",))]
    tags = Tags()
    shown = []
    tags.handle_data = shown.append
    tags.feed(marked("a b c", words, {"a": 1.0, "b": -0.5, "c": 0.01}))
    assert "".join(shown) == "a b c"
    assert [value for name, value in tags.attributes if name == "class"] == ["for-4", "against-2"]


def test_shap(explanation):
    shap = pytest.importorskip("shap", reason="the extra vicinal[shap] is not installed")
    one = explanation.to_shap("sea")
    assert isinstance(one, shap.Explanation)
    assert one.base_values + one.values.sum() == explanation["sea"].value
    assert one.feature_names[0] == "neighbor row one"


@pytest.mark.filterwarnings("ignore")
def test_shap_draws_its_waterfall(explanation, monkeypatch):
    shap = pytest.importorskip("shap", reason="the extra vicinal[shap] is not installed")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = shap.plots.waterfall(explanation.to_shap("sea"), show=False)
    assert "boat" in " ".join(text.get_text() for text in axes.get_yticklabels())
    matplotlib.pyplot.close("all")


def test_shap_missing_names_the_extra(explanation, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"vicinal\[shap\]"):
        explanation.to_shap("sea")


def test_breakdowns_refuse_what_does_not_fit():
    with pytest.raises(InvalidArgumentError, match="shares"):
        Terms("neighbor", np.array([1, 2]), np.array([0.5]))
    with pytest.raises(InvalidArgumentError, match="names"):
        Terms("input", np.array([1]), np.array([0.5]), ("a", "b"))
    with pytest.raises(InvalidArgumentError, match="kind"):
        Terms("row", np.array([1]), np.array([0.5]))
    with pytest.raises(InvalidArgumentError, match="scale"):
        Breakdown(0.0).plus(Breakdown(0.0, scale="log-odds"))


def test_an_input_without_parts_is_not_split():
    nothing = Breakdown(0.5, (Terms("neighbor", np.array([1]), np.array([0.0])),))
    assert nothing.splitting(2.0) == ()
