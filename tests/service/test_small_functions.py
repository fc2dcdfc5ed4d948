"""Examples of functions that other tests reach only on the way."""

import logging
import os
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from vicinal.service import engine, server
from vicinal.service.access import _name
from vicinal.service.app import named_sources
from vicinal.service.limits import Limits, ServiceError, bad_value, check_limits, check_most
from vicinal.service.served_model import SharedFeatures, _with_and_without, graph_file


def test_name():
    assert (_name("localhost:8000"), _name("[::1]:8000"), _name("127.0.0.1")) == (
        "localhost",
        "[::1]",
        "127.0.0.1",
    )


def test_named_sources():
    assert named_sources(["models/news", "models/mail"]) == {
        "news": "models/news",
        "mail": "models/mail",
    }


def test_bad_value():
    assert bad_value("top", "at most 1000", 5000).message == "top: expected at most 1000, got 5000"


def test_check_limits():
    with pytest.raises(ServiceError, match=re.escape("rows.0.text: longer than 3 characters")):
        check_limits([{"text": "abcd"}], Limits(text_characters=3))


def test_check_most():
    with pytest.raises(ServiceError, match=re.escape("top: expected at most 5, got 7")):
        check_most("top", 7, most=5)


def test_to_json():
    """Names in a model file may hold half an emoji, which UTF-8 does not have."""
    assert engine.to_json({"name": "\ud83d é"}) == '{"name":"? é"}'.encode()


def test_graph_file():
    assert (
        graph_file(Path("taught.sqlite.snapshots/news/000000000012")).name
        == "000000000012.graph.npz"
    )


def test_with_and_without():
    x = sparse.csr_array(np.array([[1.0, 0.0, 2.0]]))
    np.testing.assert_equal(
        (_with_and_without(x, np.array([0, 2])).toarray()),
        np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]),
    )


def test_sharedfeatures():
    shared = SharedFeatures(np.array([[3.0, 4.0, 0.0]]), "abc")
    found = shared.with_row(np.array([[0.0, 1.0, 2.0]]), 0)
    assert [(part["feature"], round(part["share"], 4)) for part in found] == [("b", 0.3578)]


def test_the_end_waits_once_for_all_threads(monkeypatch) -> None:
    ended, may_end = [], threading.Event()
    monkeypatch.setattr(server, "LAST_SECONDS", 0.2, raising=False)
    monkeypatch.setattr(logging, "shutdown", lambda: None)
    monkeypatch.setattr(os, "_exit", ended.append)
    working = [threading.Thread(target=may_end.wait, args=(30,)) for _ in range(4)]
    for thread in working:
        thread.start()
    began = time.monotonic()
    server._leave_unfinished_work()
    took = time.monotonic() - began
    may_end.set()
    for thread in working:
        thread.join()
    assert ended == [0]
    assert 0.15 < took < 1.5
