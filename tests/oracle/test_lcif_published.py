"""Figures of the LCIF paper's data sets, on the published splits."""

import pytest

from vicinal import LCIF, InstanceKNN, datasets
from vicinal.datasets.catalogue import entry
from vicinal.datasets.catalogue.download import at_hand
from vicinal.metrics import evaluate

pytestmark = [pytest.mark.native, pytest.mark.data]

NAMES = ("example-accuracy", "example-f1", "hamming-loss", "micro-f1")


def load(name):
    if not at_hand(entry(name)):
        pytest.skip(f"{name} is not in a folder of $VICINAL_DATA")
    return datasets.load(name).split()


@pytest.mark.parametrize(
    ("name", "k", "figures", "macro_f1"),
    [
        ("medical", 9, (0.598, 0.641, 0.020, 0.643), 0.347),
        ("corel5k", 29, (0.198, 0.287, 0.014, 0.304), 0.343),
    ],
)
def test_instance_knn_gives_the_figures_of_the_paper(name, k, figures, macro_f1):
    train, test = load(name)
    model = InstanceKNN(n_neighbors=k, threshold="two-pass").fit(train.X, train.Y)
    labels = model.predict(test.X)
    found = evaluate(test.Y, labels)
    assert tuple(round(found[metric], 3) for metric in NAMES) == figures
    mulan = evaluate(test.Y, labels, conventions="mulan")
    assert round(mulan["macro-f1"], 3) == macro_f1


@pytest.mark.parametrize(
    ("settings", "figures"),
    [
        ((3, 1, 0.2, False, "feature", "mean"), (0.648, 0.693)),
        ((3, 1, 0.1, False, "label", "mean"), (0.733, 0.774)),
        ((15, 1, 0.2, False, "feature", "max"), (0.772,)),
    ],
)
def test_lcif_gives_the_marks_of_brute_force_on_medical(settings, figures):
    """The best accuracy that brute force reached on the test rows, at settings that reach it."""
    train, test = load("medical")
    model = LCIF(*settings, threshold="two-pass").fit(train.X, train.Y)
    found = evaluate(test.Y, model.predict(test.X))
    for metric, figure in zip(NAMES, figures, strict=False):
        assert round(found[metric], 3) == figure


def test_the_second_order_is_better_on_delicious():
    train, test = load("delicious")
    figures = [
        evaluate(test.Y, InstanceKNN(9, second).fit(train.X, train.Y).predict(test.X))
        for second in (False, True)
    ]
    for metric in ("example-accuracy", "example-f1", "micro-f1"):
        assert figures[1][metric] > figures[0][metric]
