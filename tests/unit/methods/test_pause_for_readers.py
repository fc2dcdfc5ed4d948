"""A change pauses for predictions in other threads, and only for those."""

import threading

import numpy as np
import pytest

from vicinal import MLkNN
from vicinal.methods import incremental

ROWS = np.array([[0.0], [1.0], [5.0], [6.0]])
LABELS = [["low"], ["low"], ["high"], ["high"]]


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that changes make, in seconds; none is waited for."""
    made = []
    monkeypatch.setattr(incremental.time, "sleep", made.append)
    return made


@pytest.fixture
def model():
    return MLkNN(2).fit(ROWS, LABELS)


def read_in_another_thread(model):
    thread = threading.Thread(target=model.predict, args=(ROWS,))
    thread.start()
    thread.join()


def test_one_thread_never_pauses(model, pauses):
    model.predict(ROWS)
    model.partial_fit([[7.0]], [["high"]]).forget([0]).predict(ROWS)
    assert pauses == []


def test_a_change_pauses_once_after_another_thread_has_read(model, pauses):
    for change in (lambda: model.partial_fit([[7.0]], [["high"]]), lambda: model.forget([0])):
        pauses.clear()
        read_in_another_thread(model)
        change()
        assert len(pauses) == 1
        assert 0 < pauses[0] <= incremental.LONGEST_PAUSE
        model.compact()
        assert len(pauses) == 1


def test_a_pause_is_in_proportion_to_the_change(model, pauses):
    read_in_another_thread(model)
    for took in (0.001, 60.0):
        incremental._pause_for_readers(model._fitted(), took)
    assert pauses == [incremental.PAUSE * 0.001, incremental.LONGEST_PAUSE]


def test_a_change_that_fails_does_not_pause(model, pauses):
    read_in_another_thread(model)
    with pytest.raises(ValueError, match="rows"):
        model.forget([99])
    assert pauses == []
