"""Frames of texts, categories, numbers and dates as they are, in Python and from the program."""

import json
import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

import vicinal
from vicinal import Blend, FrameColumns, make_pipeline, make_views
from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import TextVectorizer

pytestmark = pytest.mark.native


def photos(n, seed=0):
    rng = np.random.default_rng(seed)
    water = rng.random(n) < 0.5
    words = np.where(water[:, None], ["sea", "boat", "wave"], ["house", "tree", "field"])
    titles = [" ".join(rng.choice(row, size=3)) + f" {rng.integers(5)}" for row in words]
    frame = pd.DataFrame(
        {
            "id": [f"p{row}" for row in range(n)],
            "title": titles,
            "country": np.where(rng.random(n) < 0.5, "fi", "se"),
            "year": rng.integers(1950, 2020, size=n),
            "taken": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    return frame, [["water"] if each else ["land"] for each in water]


def test_a_blend_reads_a_frame_by_itself_and_says_how_once(caplog, tmp_path):
    frame, tags = photos(80)
    new, _ = photos(6, seed=1)
    with caplog.at_level(logging.INFO, "vicinal"):
        model = Blend("mix").fit(frame, tags)
    said = [each.getMessage() for each in caplog.records if "columns:" in each.getMessage()]
    assert len(said) == 1
    assert "texts title" in said[0]
    assert "not used: id" in said[0]
    pipeline = make_pipeline(FrameColumns(), Blend("mix")).fit(frame, tags)
    truth = pipeline.scores(new).toarray()
    np.testing.assert_array_equal(model.scores(new).toarray(), truth)
    turned = new[list(reversed(new.columns))]
    np.testing.assert_array_equal(model.scores(turned).toarray(), truth)
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.scores(new).toarray(), truth)
    loaded.partial_fit(new[:1], [["ice"]])
    assert loaded.predict_names(new[:1]) == [["ice"]]
    assert Blend("mix").fit(np.eye(9), np.eye(9, dtype=int))._frame_columns() is None


def test_neighbours_are_named_by_the_index_or_by_the_identifiers():
    frame, tags = photos(40)
    assert Blend("mix").fit(frame, tags).row_names_[:2] == ("p0", "p1")
    named = frame.set_index(np.array([f"photo {row}" for row in range(40)]))
    assert Blend("mix").fit(named, tags).row_names_[0] == "photo 0"
    assert Blend("mix").fit(frame, tags, row_names=range(40)).row_names_[0] == "0"
    why = Blend("mix").fit(frame, tags).explain(frame[:1])[0]
    assert why.neighbors[0].name.startswith("p")
    assert {part.name for near in why.neighbors for part in near.shared} & {"sea", "house", "year"}


def test_dates_may_be_text_and_lists_have_a_remedy():
    frame, tags = photos(40)
    texts = frame.assign(taken=frame["taken"].dt.strftime("%d.%m.%Y"))
    model = make_pipeline(FrameColumns(), Blend("mix")).fit(texts, tags)
    assert model[0].kinds_["taken"] == "date"
    truth = make_pipeline(FrameColumns(), Blend("mix")).fit(frame, tags).scores(frame)
    np.testing.assert_array_equal(model.scores(texts).toarray(), truth.toarray())
    vectors = frame.assign(vector=[np.ones(3)] * 40)
    with pytest.raises(InvalidArgumentError, match=r"lists in column 'vector' \(make_views"):
        Blend("mix").fit(vectors, tags)
    with pytest.raises(InvalidArgumentError, match=r"in column 'year', row 0 \(fillna"):
        Blend("mix").fit(frame.assign(year=[None, *frame["year"][1:]]), tags)


def test_a_missing_column_is_named_and_no_cell_is_shown():
    frame, tags = photos(40)
    model = Blend("mix").fit(frame.assign(title="secret " + frame.title), tags)
    with pytest.raises(ValueError, match="no column 'title'") as error:
        model.predict(frame.drop(columns="title"))
    assert "secret" not in str(error.value)


def models(frame, tags):
    words = ("words", TextVectorizer(), "title")
    columns = make_column_transformer(
        (TfidfVectorizer(), "title"), (OneHotEncoder(handle_unknown="ignore"), ["country"])
    )
    yield Blend("mix").fit(frame, tags)
    yield make_pipeline(FrameColumns(), Blend("mix")).fit(frame, tags)
    yield make_pipeline(columns, Blend("mix")).fit(frame, tags)
    views = make_views(words, ("numbers", "vectors", ["year"]))
    yield make_pipeline(views, Blend("mix")).fit(frame, tags)


def test_a_model_of_a_frame_predicts_from_the_program_by_column_name(run, tmp_path):
    frame, tags = photos(60)
    new, truth = photos(7, seed=2)
    table = new[list(reversed(new.columns))].assign(tags=[names[0] for names in truth])
    table.to_csv(tmp_path / "new.csv", index=False)
    for number, model in enumerate(models(frame, tags)):
        path = tmp_path / f"model{number}"
        model.save(path)
        code, out, err = run("predict", path, tmp_path / "new.csv", "--json")
        assert code == 0, err
        answers = [json.loads(line) for line in out.splitlines()]
        assert [answer["labels"] for answer in answers] == model.predict_names(new)
        code, out, err = run("evaluate", path, tmp_path / "new.csv", "--json")
        assert code == 0, err
        assert json.loads(out)["micro-f1"] > 0.8
        code, out, err = run("explain", path, tmp_path / "new.csv", "--json", "--limit", "1")
        assert code == 0, err
