"""Files are looked for in order, and an absent one is told with all the places."""

import gzip

import pytest

from vicinal.datasets.catalogue.download import at_hand, finder
from vicinal.errors import DataFormatError, DataNotFoundError


def put(folder, content=b"x", name="train.txt"):
    path = folder / "toy" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_first_folder_that_has_the_file_wins(folders, toy):
    find = finder(toy)
    in_cache = put(folders / "cache")
    assert find("train.txt") == in_cache
    in_second = put(folders / "b")
    assert find("train.txt") == in_second
    in_first = put(folders / "a")
    assert find("train.txt") == in_first


def test_a_file_packed_otherwise_will_do(folders, toy):
    path = put(folders / "b", gzip.compress(b"x"), "train.txt.gz")
    assert finder(toy)("train.txt") == path
    bare = put(folders / "a")
    assert finder(toy)("train.txt.xz") == bare


def test_at_hand_needs_every_file(folders, toy):
    assert not at_hand(toy)
    put(folders / "a")
    assert not at_hand(toy)
    put(folders / "cache", name="test.txt")
    assert at_hand(toy)


def test_an_absent_file_is_told_with_every_place_and_what_to_do(folders, toy):
    with pytest.raises(DataNotFoundError) as told:
        finder(toy)("train.txt")
    message = str(told.value)
    for part in ("a/toy", "b/toy", "cache/toy", "train.txt", "test.txt"):
        assert part in message
    for part in ("VICINAL_DATA", "VICINAL_DATA_URL", "no address is known", "ask the test"):
        assert part in message
    assert isinstance(told.value, FileNotFoundError)


def test_found_files_are_compared_only_when_asked(folders, toy, known):
    path = put(folders / "a", b"not what it was")
    assert finder(toy)("train.txt") == path
    with pytest.raises(
        DataFormatError, match=r"train.txt: expected SHA-256 " + known["toy/train.txt"]
    ):
        finder(toy, check=True)("train.txt")


def test_a_sound_file_passes_the_comparison(folders, toy, known):
    path = put(folders / "a", b"2 3 2\n0 0:1 2:2\n1 1:1\n")
    assert finder(toy, check=True)("train.txt") == path
