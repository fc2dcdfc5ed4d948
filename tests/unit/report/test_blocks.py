"""The building blocks: what they say, that nothing can be forged, that they are readable by ear."""

import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from vicinal._core.html import clean, element, escape
from vicinal.errors import InvalidArgumentError
from vicinal.report.page import (
    INK,
    NAMES,
    SERIES,
    Details,
    Facts,
    Ids,
    Page,
    Paragraph,
    PlotFigure,
    Section,
)
from vicinal.report.sortable_table import Cell, Column, DataTable, mark_best

HOSTILE = "</title></style><script>alert('1')</script>\"' onload=x & \x00 \ud800"


def plot(label: str = "a") -> Figure:
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([1, 2], [3, 4], color=SERIES[0], marker="o", label=label)
    axes.set_title(clean(label) + "字", color=INK, parse_math=False)
    axes.set_xlim(1.2, 2)  # something to clip
    return figure


def page(word: str = "plain") -> Page:
    columns = [Column("method", note=word), Column(word, better="low", group=word), "words"]
    table = DataTable(word, columns, [(word, 0.25, word), ("b", 0.5, None)], [("mean", 0.375, "")])
    drawn = PlotFigure(plot(word), word, word)
    inner = Section(word, [drawn, drawn, Details(word, [Facts({word: word})])])
    return Page(word, [Paragraph(word)], [Section(word, [table, inner]), Section(word, [])], word)


def test_a_page_is_balanced_and_loads_nothing(read):
    text = page().html()
    root = read(text)
    assert not re.search(r"(https?:)?//[a-z]|@import|url\((?!#)", text.split("</style>")[1])
    assert "@import" not in text
    assert "url(" not in text.split("</style>")[0]
    assert [h.tag for h in root.all() if re.fullmatch(r"h\d", h.tag)] == ["h1", "h2", "h3", "h2"]
    links = [node.attributes["href"] for node in root.all("nav")[0].all("a")]
    assert links == ["#plain", "#plain-2"]
    policy = [n for n in root.all("meta") if n.attributes.get("http-equiv")]
    assert policy[0].attributes["content"].startswith("default-src 'none'")


def test_hostile_words_stay_words(read):
    root = read(page(HOSTILE).html())
    assert len(root.all("script")) == 1
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert root.all("h1")[0].text == root.all("title")[0].text == shown
    assert root.all("caption")[0].text == shown
    assert root.all("tbody")[0].all("td")[1].text == shown
    assert {node.attributes["aria-label"] for node in root.all("svg")} == {shown}
    assert any(shown.split("&")[0] in node.text for node in root.all("text"))
    assert page(HOSTILE).html().encode()


@given(st.text())
def test_any_text_survives_a_round_trip(text):
    markup = element("p", text, title=text)
    assert "<" not in markup[3:-4]
    assert escape(escape(text)) == escape(text)


def test_the_same_page_gives_the_same_bytes(tmp_path):
    one, two = page().write(tmp_path / "deep" / "one.html"), page().write(tmp_path / "two.html")
    assert one.read_bytes() == two.read_bytes()
    assert b"\r" not in one.read_bytes()


def test_tables_have_captions_scopes_and_values(read):
    (table,) = read(page().html()).all("table")
    heads = table.all("th")
    assert [h.attributes["scope"] for h in heads] == ["colgroup", *["col"] * 3, *["row"] * 3]
    numbers = [n for n in table.all("td") if "data-value" in n.attributes]
    assert [(n.text, n.attributes["data-value"]) for n in numbers] == [
        ("0.250", "0.25"),
        ("0.500", "0.5"),
        ("0.375", "0.375"),
    ]
    assert [node.text for node in table.all("strong")] == ["0.250"]
    assert table.all("td")[-3].text == "–"


def test_a_cell_without_a_number_is_aligned_like_numbers(read):
    table = DataTable("t", ["name", "value", "word"], [("a", 1.0, "x"), ("b", None, "y")])
    cells = read(table.render(Ids(), 2)).all("td")
    assert [("number" in cell.classes) for cell in cells] == [True, False, True, False]


def test_the_best_value_is_the_best_as_displayed():
    cells = mark_best([Cell(2.0004, spread=0.1), 2.0, float("nan"), None, "word", 1.0], "high")
    assert [cell.best for cell in cells] == [True, True, False, False, False, False]
    assert cells[0].spread == 0.1
    assert not any(cell.best for cell in mark_best([None, "x"], "low"))


def test_spread_is_not_shown_without_a_number():
    assert "±" not in Cell(None, spread=0.1).render(".2f")
    assert "±0.10" in Cell(0.5, spread=0.1).render(".2f")


def test_a_row_of_another_width_is_refused():
    with pytest.raises(InvalidArgumentError, match="2 cells"):
        DataTable("t", ["a", "b"], [("x",)])
    with pytest.raises(InvalidArgumentError, match="plain name"):
        Cell(1.0, kind='x" onclick="y').render(".1f")


def test_ids_are_never_given_twice():
    ids = Ids()
    given_out = [ids.take(word) for word in ("a", "a", "a-2", "A", "1", "", "é")]
    assert len(set(given_out)) == len(given_out)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in given_out)


def test_figures_name_their_colours_and_share_no_ids(read):
    root = read(page().html())
    first, second = root.all("svg")
    assert "var(--series-1)" in "".join(str(n.attributes) for n in first.all())
    assert not any(color in str(n.attributes) for n in first.all() for color in NAMES)
    assert not first.all("style")
    assert not first.all("metadata")
    assert len(first.all()) == len(second.all())
    used = [n.attributes["href"] for n in first.all("use")]
    assert used
    assert all(name.startswith("#figure-plain-") for name in used)


def style(scheme: str) -> dict[str, str]:
    text = resources.files("vicinal.report").joinpath("page.css").read_text()
    light, dark = re.findall(r":root \{([^}]*--ink[^}]*)\}", text)
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light if scheme == "light" else dark))


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_on_its_paper(scheme):
    colors = style(scheme)
    texts = {*NAMES.values(), "link"} - {"faint"}
    for name in texts:
        assert contrast(colors[name], colors["paper"]) >= 4.5, name
    for name in ("near", "far"):
        assert contrast(colors[name], colors[f"{name}-paper"]) >= 4.5, name
    assert contrast(colors["quiet"], colors["raised"]) >= 4.5


def test_figures_are_drawn_in_the_colours_of_the_style_sheet():
    light = style("light")
    assert {light[name]: name for name in NAMES.values()} == dict(NAMES)
