"""Folders come from the environment, else from the habits of the system."""

from pathlib import Path

import pytest

from vicinal.datasets.catalogue.download import _system_cache, cache_folder, data_folders


def test_given_folders_come_in_order_and_the_cache_last(monkeypatch):
    monkeypatch.setenv("VICINAL_DATA", "/one::/two")
    monkeypatch.setenv("VICINAL_CACHE", "/cache")
    assert data_folders() == [Path("/one"), Path("/two"), Path("/cache")]


def test_without_environment_the_system_decides(monkeypatch):
    monkeypatch.delenv("VICINAL_DATA", raising=False)
    monkeypatch.delenv("VICINAL_CACHE", raising=False)
    assert data_folders() == [cache_folder()]
    assert cache_folder().name == "vicinal"


@pytest.mark.parametrize(
    ("platform", "variable", "usual"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
        ("darwin", None, "Library/Caches"),
    ],
)
def test_each_system_has_its_place(platform, variable, usual, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert _system_cache(platform) == Path("/home/me") / usual
    if variable:
        monkeypatch.setenv(variable, "/elsewhere")
        assert _system_cache(platform) == Path("/elsewhere")
