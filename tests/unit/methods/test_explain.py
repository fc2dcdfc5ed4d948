"""``explain`` as a user calls it: labels, names, texts, what-if."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import vicinal
from vicinal import IBLR, LCIF, Blend, BRkNN, FeatureKNN, InstanceKNN, MLkNN, make_pipeline
from vicinal.decision import Threshold
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.methods import explain
from vicinal.persistence.encoding import decode, encode
from vicinal.preprocess import TextVectorizer, TfIdf, UnitRows

pytestmark = pytest.mark.native

TEXTS = [
    "Red apples and green pears",
    "Green pears, ripe pears",
    "A bike ride on a green hill",
    "Ride the red bike home",
    "Apples for the ride home",
]
LABELS = [["fruit"], ["fruit"], ["sport", "outdoors"], ["sport"], ["fruit", "sport"]]


@pytest.fixture
def model(sample):
    names = [f"song {i}" for i in range(len(sample.X))]
    return BRkNN(4).fit(sample.X, sample.Y, row_names=names)


@pytest.fixture
def texts():
    steps = [("words", TextVectorizer(weighting="counts")), ("tfidf", TfIdf())]
    pipeline = Pipeline([*steps, ("estimator", InstanceKNN(3))])
    return pipeline.fit(TEXTS, LABELS, estimator__row_names=list("abcde"))


class TestLabels:
    def test_by_name_and_by_number_in_the_order_given(self, model, sample):
        (why,) = model.explain(sample.X_test[:1], labels=["3", 0, np.int64(2)])
        assert [one.label for one in why.labels] == ["3", "0", "2"]

    @pytest.mark.parametrize("labels", [["9"], [5], [-1], [True], [1.5], "0", 3])
    def test_unknown_labels_are_refused(self, labels, model, sample):
        with pytest.raises(InvalidArgumentError, match=r"^labels: "):
            model.explain(sample.X_test[:1], labels=labels)

    def test_top_may_be_none_or_more_than_there_are(self, model, sample):
        (few,) = model.explain(sample.X_test[:1], top=0)
        assert {one.label for one in few.labels} == set(few.predicted)
        (all_of_them,) = model.explain(sample.X_test[:1], top=99)
        assert len(all_of_them.labels) == 5

    @pytest.mark.parametrize("top", [-1, 1.5, None])
    def test_bad_top_is_refused(self, top, model, sample):
        with pytest.raises(InvalidArgumentError, match=r"^top: "):
            model.explain(sample.X_test[:1], top=top)

    def test_more_rows_than_a_block(self, model, sample, monkeypatch):
        whole = model.explain(sample.X_test).to_json()
        monkeypatch.setattr("vicinal.methods.explaining.BLOCK_ROWS", 7)
        assert model.explain(sample.X_test).to_json() == whole


class TestRowNames:
    def test_neighbours_have_their_names(self, model, sample):
        (why,) = model.explain(sample.X_test[:1], row_names=["query"])
        ids = model.neighbor_graph(sample.X_test[:1]).ids[0]
        assert why.row == "query"
        assert [near.name for near in why.neighbors] == [f"song {i}" for i in ids]
        assert [part.name for part in why.labels[0].parts] == [f"song {i}" for i in ids]

    def test_without_names_rows_go_by_their_ids(self, sample):
        model = BRkNN(4).fit(sample.X, sample.Y)
        assert model.row_names_ is None
        (why,) = model.explain(sample.X_test[:1])
        assert [near.name for near in why.neighbors] == [str(near.id) for near in why.neighbors]

    def test_learning_and_forgetting_keep_names_in_step(self, sample):
        names = [f"song {i}" for i in range(50)]
        model = BRkNN(4).fit(sample.X[:30], sample.Y[:30], row_names=names[:30])
        model.partial_fit(sample.X[30:40], sample.Y[30:40], row_names=names[30:40])
        model.forget([3, 31])
        model.partial_fit(sample.X[40:], sample.Y[40:])
        expected = [n for n in names[:40] if n not in ("song 3", "song 31")]
        assert list(model.row_names_) == [*expected, *(str(i) for i in range(40, 50))]
        for near in model.explain(sample.X_test)[0].neighbors:
            assert near.name == (f"song {near.id}" if near.id < 40 else str(near.id))

    def test_names_that_come_late(self, sample):
        model = BRkNN(4).fit(sample.X[:3], sample.Y[:3])
        model.partial_fit(sample.X[3:5], sample.Y[3:5], row_names=["d", "e"])
        assert model.row_names_ == ("0", "1", "2", "d", "e")

    def test_partial_fit_first(self, sample):
        model = BRkNN(2).partial_fit(sample.X[:3], sample.Y[:3], row_names=["a", "b", "c"])
        assert model.row_names_ == ("a", "b", "c")

    @pytest.mark.parametrize(
        "names", ["ab", ["a"], [None, "b"], ["a", "\ud800"]], ids=["text", "few", "none", "broken"]
    )
    def test_bad_names_change_nothing(self, names, sample):
        model = BRkNN(2)
        with pytest.raises(InvalidArgumentError, match=r"^row_names: "):
            model.fit(sample.X[:2], sample.Y[:2], row_names=names)
        assert not hasattr(model, "scoring_")
        model.fit(sample.X[:5], sample.Y[:5], row_names=list("abcde"))
        with pytest.raises(InvalidArgumentError, match=r"^row_names: "):
            model.partial_fit(sample.X[:2], sample.Y[:2], row_names=names)
        assert model.row_names_ == tuple("abcde")
        assert len(model.row_ids_) == 5

    def test_a_new_fit_forgets_old_names(self, model, sample):
        assert model.fit(sample.X, sample.Y).row_names_ is None

    def test_names_are_saved(self, model, tmp_path):
        model.row_names_ = ("é", "", *model.row_names_[2:])
        model.save(tmp_path / "model")
        assert vicinal.load(tmp_path / "model").row_names_ == model.row_names_

    def test_models_saved_before_rows_had_names_still_load(self, sample):
        state = BRkNN(2).fit(sample.X, sample.Y).get_state()
        del state["row_names"]
        assert BRkNN.from_state(decode(*encode(state))).row_names_ is None

    @pytest.mark.parametrize(
        "change",
        [
            lambda packed: packed.update(lengths=packed["lengths"][:-1]),
            lambda packed: packed.update(lengths=packed["lengths"] + 1),
            lambda packed: packed.update(lengths=-packed["lengths"]),
            lambda packed: packed.update(utf8=packed["utf8"][:-1]),
            lambda packed: packed.update(utf8=packed["utf8"] * 0 + 255),
            lambda packed: packed.pop("utf8"),
        ],
        ids=["few", "long", "negative", "cut", "not text", "missing"],
    )
    def test_damaged_names_are_refused(self, change, model):
        state = model.get_state()
        change(state["row_names"])
        with pytest.raises(ModelFormatError):
            BRkNN.from_state(decode(*encode(state)))


class TestFeatureNames:
    def test_from_a_data_frame(self, sample):
        frame = pytest.importorskip("pandas").DataFrame(sample.X, columns=list("abcdef"))
        (why,) = FeatureKNN(3).fit(frame, sample.Y).explain(frame[:1])
        assert {part.name for one in why.labels for part in one.parts} <= set("abcdef")

    def test_given_or_numbered(self, sample):
        model = FeatureKNN(3).fit(sample.X, sample.Y)
        (why,) = model.explain(sample.X_test[:1], feature_names=list("abcdef"))
        assert {part.name for one in why.labels for part in one.parts} <= set("abcdef")
        (why,) = model.explain(sample.X_test[:1])
        assert {part.name[:7] for one in why.labels for part in one.parts} == {"feature"}
        with pytest.raises(InvalidArgumentError, match=r"^feature_names: "):
            model.explain(sample.X_test[:1], feature_names=["a"])


class TestTexts:
    def test_words_stand_where_they_stand(self, texts):
        document = "A RED bike, apples!"
        (why,) = explain(texts, [document])
        found = [document[word.start : word.stop] for word in why.words]
        assert found == ["A", "RED", "bike", "apples"]
        assert [word.features for word in why.words] == [("a",), ("red",), ("bike",), ("apples",)]

    def test_a_pipeline_scores_as_it_predicts(self, texts):
        (why,) = explain(texts, ["red bike"], labels=["sport"])
        proba = texts.predict_proba(["red bike"])
        scores = proba if isinstance(proba, np.ndarray) else proba.toarray()
        assert why["sport"].score == scores[0, list(texts[-1].label_names_).index("sport")]
        assert why.neighbors[0].name == "d"

    def test_neighbours_with_their_texts(self, texts):
        (why,) = explain(texts, ["red bike"], row_texts=TEXTS)
        near = why.neighbors[0]
        assert near.text == TEXTS[3]
        assert [near.text[word.start : word.stop] for word in near.words] == TEXTS[3].split()
        (some,) = explain(texts, ["red bike"], row_texts={3: TEXTS[3]})
        assert [near.text for near in some.neighbors][:2] == [TEXTS[3], None]

    @pytest.mark.parametrize("row_texts", [TEXTS[:2], {0: 1}, "text"])
    def test_bad_texts_are_refused(self, row_texts, texts):
        with pytest.raises(InvalidArgumentError, match=r"^row_texts: "):
            explain(texts, ["red bike"], row_texts=row_texts)

    def test_texts_of_rows_need_a_model_that_reads_texts(self, model, sample):
        with pytest.raises(InvalidArgumentError, match=r"^row_texts: expected None: the model"):
            explain(model, sample.X_test[:1], row_texts=["a"] * 50)

    def test_an_estimator_alone(self, model, sample):
        assert explain(model, sample.X_test).to_json() == model.explain(sample.X_test).to_json()

    def test_steps_that_mix_words_leave_no_words(self):
        steps = [("words", TextVectorizer()), ("svd", TruncatedSVD(2, random_state=0))]
        mixed = Pipeline([*steps, ("estimator", BRkNN(2))]).fit(TEXTS, LABELS)
        (why,) = explain(mixed, ["red bike"])
        assert why.text is None
        assert why.neighbors[0].shared[0].name.startswith("truncatedsvd")

    def test_steps_that_pass_rows_through_change_nothing(self):
        steps = [("words", TextVectorizer()), ("nothing", "passthrough")]
        idle = Pipeline([*steps, ("estimator", BRkNN(2))]).fit(TEXTS, LABELS)
        plain = Pipeline([steps[0], ("estimator", BRkNN(2))]).fit(TEXTS, LABELS)
        assert explain(idle, ["red bike"]).to_json() == explain(plain, ["red bike"]).to_json()

    def test_other_estimators_are_refused(self, sample):
        other = Pipeline([("unit", UnitRows()), ("last", LogisticRegression())])
        with pytest.raises(InvalidArgumentError, match=r"^model: "):
            explain(other, sample.X_test)

    def test_highlights_share_out_what_neighbours_say(self, texts):
        (why,) = explain(texts, ["ripe apples for the bike"])
        for one in why.labels:
            total = sum(part.share for part in one.parts)
            assert sum(part.share for part in one.highlights) == pytest.approx(total, abs=1e-12)
            assert {part.name for part in one.highlights} <= {
                "ripe",
                "apples",
                "for",
                "the",
                "bike",
            }


def scores_without(model, x, rows):
    """The scores of a row when some training rows are not found, from an exhaustive search."""
    k = model.scoring_.k
    wide = model.neighbor_graph(x, len(model.row_ids_))
    kept = [i for i, id_ in enumerate(wide.ids[0]) if id_ not in rows][:k]
    near = NeighborGraph(
        np.ascontiguousarray(wide.ids[:, kept]),
        np.ascontiguousarray(wide.values[:, kept]),
        wide.metric,
        wide.n_rows,
    )
    return model.scores(x, graph=near).toarray()[0], model.predict(x, graph=near)[0]


class TestWhatIf:
    @pytest.mark.parametrize(
        "kind", [BRkNN(4), MLkNN(4), InstanceKNN(4, threshold=0.4), IBLR(4)], ids=type
    )
    def test_neighbours_whose_removal_drops_a_label(self, kind, sample):
        model = kind.fit(sample.X, sample.Y)
        singles = 0
        for row, why in enumerate(model.explain(sample.X_test, what_if=True)):
            x = sample.X_test[row : row + 1]
            for one in why.labels:
                label = int(one.label)
                if not one.predicted:
                    assert one.what_if is None
                    continue
                near = [each for each in one.what_if if each.kind == "neighbor"]
                for each in near:
                    scores, predicted = scores_without(model, x, each.ids)
                    assert scores[label] == each.score
                    assert not predicted[label]
                speaking = [p.id for p in one.parts if p.kind == "neighbor" and p.share > 0]
                alone = [id_ for id_ in speaking if not scores_without(model, x, [id_])[1][label]]
                singles += len(alone)
                if alone:
                    assert sorted(each.ids[0] for each in near) == sorted(alone)
                else:
                    assert len(near) <= 1
        assert singles > 0, "the sample has such neighbours"

    @pytest.mark.parametrize("kind", [BRkNN(4), FeatureKNN(3)], ids=type)
    def test_features_whose_removal_drops_a_label(self, kind, sample):
        model = kind.fit(sample.X, sample.Y)
        singles = 0
        for row, why in enumerate(model.explain(sample.X_test, what_if=True)):
            for one in (each for each in why.labels if each.predicted):
                label = int(one.label)
                expected = []
                for column in np.flatnonzero(sample.X_test[row]):
                    x = sample.X_test[row : row + 1].copy()
                    x[0, column] = 0
                    if not model.predict(x)[0, label]:
                        expected.append((column, model.scores(x).toarray()[0, label]))
                found = [each for each in one.what_if if each.kind == "feature"]
                singles += len(expected)
                if expected:
                    assert sorted((each.ids[0], each.score) for each in found) == expected
        assert singles > 0

    def test_the_fewest_together_where_no_single_one_drops_the_label(self):
        X, Y = np.zeros((8, 1)), np.array([[1]] * 4 + [[0]] * 4)
        model = BRkNN(4).fit(X, Y)
        (why,) = model.explain([[0.0]], what_if=True)
        (removal,) = why.labels[0].what_if
        assert (removal.kind, len(removal.ids), removal.score) == ("neighbor", 3, 0.25)
        assert not scores_without(model, [[0.0]], removal.ids)[1][0]
        assert scores_without(model, [[0.0]], removal.ids[:2])[1][0]

    def test_a_label_that_nothing_drops(self):
        model = BRkNN(2, threshold=Threshold(-1.0)).fit([[0.0], [1.0], [2.0]], [[1], [1], [1]])
        (why,) = model.explain([[1.5]], what_if=True)
        assert why.labels[0].what_if == []

    def test_words_are_deleted_from_the_text(self, texts):
        (why,) = explain(texts, ["red bike and pears"], what_if=True)
        label = next(one for one in why.labels if one.predicted)
        words = [each for each in label.what_if if each.kind == "feature"]
        assert words
        for each in words:
            kept = [w for w in ["red", "bike", "and", "pears"] if w not in each.names]
            column = list(texts[-1].label_names_).index(label.label)
            rows = texts[:-1].transform([" ".join(kept)])
            assert texts[-1].scores(rows).toarray()[0, column] == pytest.approx(
                each.score, abs=1e-12
            )

    def test_more_neighbours_than_rows(self):
        model = BRkNN(5).fit([[0.0], [1.0]], [["a"], ["a", "b"]])
        (why,) = model.explain([[0.0]], what_if=True)
        assert why["b"].what_if[0].ids == (1,)


@pytest.mark.parametrize(
    "kind", [MLkNN(10, metric="cosine"), InstanceKNN(10), LCIF(10, 10)], ids=type
)
def test_the_embedded_data(kind):
    train, test = vicinal.datasets.load("debtags").split()
    some = slice(0, 3000)
    names = train.row_names[some]
    model = kind.fit(train.X[some], train.Y[some], label_names=train.label_names, row_names=names)
    rows = test.X[:40]
    scores = model.scores(rows).toarray()
    for row, why in enumerate(model.explain(rows, feature_names=train.feature_names)):
        assert {near.name for near in why.neighbors} <= set(names)
        for one in why.labels:
            assert one.score == scores[row, train.label_names.index(one.label)]
            total = one.base + sum(part.share for part in one.parts)
            assert total == pytest.approx(one.value, abs=1e-12)
        for near in why.neighbors:
            assert sum(part.share for part in near.shared) == pytest.approx(near.value, abs=1e-12)


@pytest.mark.parametrize("estimator", [BRkNN(2, metric="cosine"), Blend()])
def test_a_pipeline_explains_by_the_rows_that_are_left(estimator):
    texts = ["buy milk", "buy a bike", "ride a bike", "fix the bike", "milk the cow"] * 6
    tags = [["shop"], ["shop", "sport"], ["sport"], ["sport"], ["farm"]] * 6
    names = [f"r{row}" for row in range(len(texts))]
    model = make_pipeline(TextVectorizer(language=None), estimator).fit(
        texts, tags, row_names=names
    )
    model.forget([0, 7, 29])
    (why,) = model.explain(["milk and a bike"], row_texts=texts)
    (direct,) = model[-1].explain(model[:-1].transform(["milk and a bike"]))
    assert [near.name for near in why.neighbors] == [near.name for near in direct.neighbors]
    assert all(near.text == texts[near.id] for near in why.neighbors)
    assert all(near.name == f"r{near.id}" for near in why.neighbors)
    for label, other in zip(why.labels, direct.labels, strict=True):
        assert label.value == other.value
        assert label.base + sum(part.share for part in label.parts) == pytest.approx(label.value)
