"""The page, used as a person uses it."""

from pathlib import Path

import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from tests.browser.conftest import TEXTS

from vicinal import Blend, make_pipeline
from vicinal.preprocess import TextVectorizer

AXE = Path(__file__).parents[2] / "build" / "axe" / "package" / "axe.min.js"
SCHEMES = ["light", "dark"]


def labels_of(page) -> dict[str, bool]:
    """Return the labels shown, and whether each is chosen."""
    page.wait_for_selector(".label")
    return {
        button.locator(".name").inner_text(): button.get_attribute("aria-pressed") == "true"
        for button in page.locator(".label").all()
    }


def write(page, text: str) -> None:
    page.fill("#text", text)
    page.wait_for_selector("#status:has-text('predicted')")
    page.wait_for_selector(".label")


def test_a_text_gets_labels_with_bars_and_reasons(open_page) -> None:
    page = open_page()
    write(page, "a cat and a kitten")
    assert labels_of(page)["cats"]
    widths = [bar.bounding_box()["width"] for bar in page.locator(".bar span").all()]
    assert widths[0] > 0
    assert widths == sorted(widths, reverse=True)
    page.get_by_role("button", name="cats").hover()
    page.wait_for_selector("#why h3:has-text('cats')")
    assert "2 of the 3 nearest training rows have this label" in page.inner_text("#why")
    page.wait_for_selector("#why .words span")
    assert {"kitten", "cat"} <= {mark.inner_text() for mark in page.locator("#marked mark").all()}
    shown = [word.inner_text().split() for word in page.locator("#why .words span").all()]
    losses = [float(loss) for _, loss in shown]
    assert losses == sorted(losses, reverse=True)
    for _ in range(3):  # looked at again and again: explained once
        page.get_by_role("button", name="cats").blur()
        page.get_by_role("button", name="cats").focus()
    page.wait_for_selector("#why h3:has-text('is the sum of')")
    page.wait_for_timeout(300)
    assert page.locator("#why h3:has-text('is the sum of')").count() == 1
    assert "+0.0000" not in page.inner_text("#why").split("base", 1)[1].split("\n", 2)[2]


def test_a_model_of_several_columns_is_asked_and_taught_by_their_names(open_page) -> None:
    notes = ["a small boat", "an old house", "boat and harbour", "house in town"] * 10
    rows = {"note": notes, "colour": ["blue", "red"] * 20, "price": [1.5, 20.0, 2.5, 30.0] * 10}
    tags = [["water"], ["land"], ["water"], ["land"]] * 10
    page = open_page({"model": Blend("mix").fit(pd.DataFrame(rows), tags)})
    page.wait_for_function("document.getElementById('text').value !== ''")
    assert page.input_value("#text") == "note: \ncolour: \nprice: "
    assert page.is_disabled("#teach")
    write(page, "note: a boat\nin two lines\ncolour: blue\nprice: 2")
    assert labels_of(page)["water"]
    page.get_by_role("button", name="water").hover()
    page.wait_for_selector("#why h3:has-text('is the sum of')")
    page.fill("#text", "note: a boat")
    page.wait_for_selector("#status:has-text('price')")
    write(page, "note: a glacier\ncolour: white\nprice: 5")
    page.fill("#add", "ice")
    page.press("#add", "Enter")
    page.click("#teach")
    page.wait_for_selector("#taught li:has-text('a glacier · white')")
    assert labels_of(page)["ice"]


def test_an_example_is_picked(open_page) -> None:
    page = open_page()
    page.wait_for_selector("#examples option:nth-child(2)", state="attached")
    page.select_option("#examples", label="a dog")
    assert labels_of(page)["dogs"]
    assert page.input_value("#text") == "a dog"


def default_model() -> Pipeline:
    """A blend, as `vicinal train` makes it."""
    texts, labels = zip(*(TEXTS * 4), strict=True)
    return make_pipeline(TextVectorizer(), Blend()).fit(list(texts), list(labels))


def test_a_taught_text_is_marked_whoever_asks(open_page) -> None:
    page = open_page({"model": default_model()})
    write(page, "a parrot and a kitten play in the sun")
    assert page.locator(".as-taught").count() == 0
    page.get_by_role("button", name="cats").click()
    page.fill("#add", "birds")
    page.press("#add", "Enter")
    page.click("#teach")
    page.wait_for_selector("#status:has-text('The text is now labelled as taught')")
    assert page.locator(".as-taught").count() == 2
    page.reload()
    write(page, "Play, kitten! In the sun, and a parrot; a ...")  # the same words
    page.wait_for_selector("#status:has-text('as taught in row 24')")
    assert {name for name, chosen in labels_of(page).items() if chosen} == {"birds", "play"}
    assert page.locator(".as-taught").count() == 2
    write(page, "a kitten in the sun")
    page.wait_for_selector("#status:not(:has-text('as taught'))")
    assert page.locator(".as-taught").count() == 0


def test_a_text_without_known_words_says_so(open_page) -> None:
    page = open_page({"model": default_model()})
    write(page, "xyzzy plugh")
    page.wait_for_selector("#status:has-text('The model knows no word of it')")
    page.fill("#add", "magic")
    page.press("#add", "Enter")
    page.click("#teach")
    page.wait_for_selector(
        "#status:has-text('not yet labelled as taught. The model knows no word')"
    )
    assert page.locator(".as-taught").count() == 0


def test_labels_are_removed_added_taught_and_undone(open_page) -> None:
    page = open_page({"model": default_model()})
    write(page, "a parrot and a kitten play")
    page.get_by_role("button", name="cats").click()
    assert not labels_of(page)["cats"]
    page.fill("#add", "birds")
    page.press("#add", "Enter")
    assert labels_of(page)["birds"]
    page.click("#teach")
    page.wait_for_selector("#taught li")
    page.wait_for_selector("#status:has-text('Taught: row 24, version 1.')")
    assert "version 1" in page.inner_text("#facts")
    assert "New: birds." in page.inner_text("#status")
    assert page.inner_text("#teach") == "Teach these labels"
    mark, label = (
        page.locator(each).first.bounding_box() for each in (".as-taught", ".label:has(.as-taught)")
    )
    assert mark["x"] + mark["width"] <= label["x"] + label["width"]
    first = page.locator("#taught li").first.inner_text()
    assert "birds" in first
    assert "cats" not in first
    assert labels_of(page)["birds"]
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("#taught .undone")
    assert "version 2" in page.inner_text("#facts")
    assert not labels_of(page).get("birds", False)
    assert page.locator(".as-taught").count() == 0
    page.reload()
    page.wait_for_selector("#taught .undone")


def test_the_page_shows_that_teaching_is_under_way(open_page) -> None:
    page = open_page()
    write(page, "a cat and a kitten")
    page.route("**/learn", lambda route: (page.wait_for_timeout(300), route.continue_()))
    page.click("#teach")
    page.wait_for_selector("#teach[aria-busy=true]:has-text('Teaching …')")
    assert page.is_disabled("#teach")
    page.wait_for_selector("#status:has-text('as taught')")
    assert page.get_attribute("#teach", "aria-busy") == "false"


def test_everything_works_with_the_keyboard_alone(open_page) -> None:
    page = open_page()
    page.wait_for_selector("#examples option:nth-child(2)", state="attached")
    page.keyboard.press("Tab")  # the link that skips the header
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.type("a cat and a kitten")
    page.wait_for_selector(".label")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "label"
    page.wait_for_selector("#why li")
    page.keyboard.press("Space")
    assert not next(iter(labels_of(page).values()))
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
        if reached[-1] == "teach":
            break
    assert reached[-3:] == ["add", "quiet", "teach"]
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector("#taught li")


def test_names_of_labels_are_text_not_markup(open_page) -> None:
    page = open_page()
    write(page, "markup is shown as text")
    assert "<img src=x onerror=alert(1)>" in labels_of(page)
    page.click("#teach")
    page.wait_for_selector("#taught li")
    assert page.locator("main img").count() == 0


def test_a_read_only_service_says_so(open_page) -> None:
    page = open_page({"loopback": False})
    write(page, "a cat")
    assert page.is_visible("#read-only")
    assert page.is_disabled("#teach")
    assert not page.is_visible("#add-form")


def test_tokens_are_asked_for_when_needed(open_page) -> None:
    page = open_page({"read_token": "reading-token", "write_token": "writing-token"})
    page.wait_for_selector("#token-form:not([hidden])")
    page.fill("#token", "reading-token")
    page.press("#token", "Enter")
    page.wait_for_selector("#examples option:nth-child(2)", state="attached")
    write(page, "a cat")
    page.click("#teach")
    page.wait_for_selector("#token-form:not([hidden])")
    assert "does not permit changes" in page.inner_text("#status")
    page.fill("#token", "writing-token")
    page.press("#token", "Enter")
    page.wait_for_selector("#token-form", state="hidden")
    page.click("#teach")
    page.wait_for_selector("#taught li")


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(open_page, width) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    write(page, "markup is shown as text " + "unbroken" * 40)
    page.locator(".label").first.focus()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible").all():
        assert button.bounding_box()["height"] >= 24  # WCAG 2.2, target size


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", ["", "docs"])
def test_accessibility(open_page, scheme, path) -> None:
    if not AXE.exists():
        pytest.skip("axe-core absent: make browser")
    page = open_page(path=path, color_scheme=scheme, bypass_csp=True)
    if path == "docs":
        page.wait_for_selector("details")
        for summary in page.locator("summary").all()[:3]:
            summary.click()
    else:
        write(page, "a cat and a kitten play")
        page.locator(".label").first.focus()
        page.wait_for_selector("#why li")
        page.click("#teach")
        page.wait_for_selector("#taught li")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document)")
    problems = [(each["id"], [n["html"] for n in each["nodes"]]) for each in found["violations"]]
    assert problems == []
    assert len(found["passes"]) > 10


def test_the_documentation_lists_every_operation(open_page) -> None:
    page = open_page(path="docs")
    page.wait_for_selector("details")
    text = page.inner_text("main")
    for path in ("/v1/models/{model_id}/learn", "/v1/projects/{model_id}/suggest", "/livez"):
        assert path in text
