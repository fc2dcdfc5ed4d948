"""Downloads, against a server on this machine: whole and checked, or not at all."""

import hashlib
import io
import sys
import zipfile
from dataclasses import replace

import pytest

from vicinal.datasets.catalogue import download as download_module
from vicinal.datasets.catalogue.download import addresses, finder
from vicinal.errors import DataFormatError, DataNotFoundError, MissingExtraError

TRAIN = b"2 3 2\n0 0:1 2:2\n1 1:1\n"
TEST = b"1 3 2\n0,1 0:1\n"


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_comes_from_the_mirror_once(server, folders, toy, known, monkeypatch):
    monkeypatch.setenv("VICINAL_DATA_URL", server.address + "/mirror/")
    server.bodies["/mirror/toy/train.txt"] = TRAIN
    path = finder(toy)("train.txt")
    assert path == folders / "cache" / "toy" / "train.txt"
    assert path.read_bytes() == TRAIN
    assert finder(toy)("train.txt") == path
    assert server.asked == ["/mirror/toy/train.txt"]
    assert left_in(folders) == ["train.txt"]


def test_the_home_is_asked_after_the_mirror(server, folders, toy, known, monkeypatch):
    monkeypatch.setenv("VICINAL_DATA_URL", server.address + "/mirror")
    server.bodies["/home/train.txt"] = TRAIN
    path = finder(replace(toy, home=server.address + "/home"))("train.txt")
    assert path.read_bytes() == TRAIN
    assert server.asked == ["/mirror/toy/train.txt", "/home/train.txt"]


def test_at_home_a_file_has_its_own_name_without_packing(toy, known, monkeypatch):
    monkeypatch.delenv("VICINAL_DATA_URL", raising=False)
    at_home = replace(toy, home="http://home")
    assert addresses(at_home, "train.txt.gz") == ["http://home/train.txt"]
    assert addresses(at_home, "other.txt.gz") == ["http://home/other.txt.gz"]


def test_a_wrong_checksum_leaves_nothing(server, folders, toy, known):
    server.bodies["/train.txt"] = TRAIN + b"tampered"
    with pytest.raises(DataFormatError, match=known["toy/train.txt"]):
        finder(replace(toy, home=server.address))("train.txt")
    assert left_in(folders) == []


def test_a_missing_file_is_told_with_its_address(server, folders, toy, known):
    with pytest.raises(DataNotFoundError, match=r"/train\.txt: 404") as told:
        finder(replace(toy, home=server.address))("train.txt")
    assert str(folders / "a" / "toy") in str(told.value)
    assert left_in(folders) == []


@pytest.mark.parametrize("checksum_known", [True, False])
def test_a_cut_connection_leaves_nothing(server, folders, toy, known, checksum_known):
    server.bodies["/train.txt"] = TRAIN
    server.cut.add("/train.txt")
    if not checksum_known:
        known.clear()
    with pytest.raises(DataNotFoundError, match=r"/train\.txt"):
        finder(replace(toy, home=server.address))("train.txt")
    assert left_in(folders) == []


def test_no_network_is_told(server, folders, toy, known):
    unused = "http://127.0.0.1:1"
    with pytest.raises(DataNotFoundError, match=r"127\.0\.0\.1:1"):
        finder(replace(toy, home=unused))("train.txt")
    assert left_in(folders) == []


def test_an_unknown_checksum_is_kept_when_first_seen(server, folders, toy, known):
    known.clear()
    server.bodies["/train.txt"] = TRAIN
    path = finder(replace(toy, home=server.address))("train.txt")
    kept = (path.parent / "train.txt.sha256").read_text()
    assert kept == f"{hashlib.sha256(TRAIN).hexdigest()}  train.txt\n"
    assert finder(toy, check=True)("train.txt") == path
    path.write_bytes(b"changed since")
    with pytest.raises(DataFormatError, match=r"train\.txt: expected SHA-256"):
        finder(toy, check=True)("train.txt")


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"Deep/Folder/{name}.txt", content)
    return stream.getvalue()


def test_an_archive_gives_all_files_at_once(server, folders, toy, known):
    known.clear()
    server.bodies["/toy.zip"] = zipped(train=TRAIN, test=TEST, other=b"-")
    find = finder(replace(toy, archive=server.address + "/toy.zip"))
    assert find("train.txt").read_bytes() == TRAIN
    assert find("test.txt").read_bytes() == TEST
    assert server.asked == ["/toy.zip"]
    assert left_in(folders) == ["test.txt", "test.txt.sha256", "train.txt", "train.txt.sha256"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [(b"<html>confirm</html>", "a zip archive"), (zipped(other=b"-"), "an archive with train.txt")],
)
def test_something_else_than_the_archive_leaves_nothing(
    server, folders, toy, known, body, expected
):
    server.bodies["/toy.zip"] = body
    with pytest.raises(DataFormatError, match=expected):
        finder(replace(toy, archive=server.address + "/toy.zip"))("train.txt")
    assert left_in(folders) == []


def test_a_member_that_unpacks_without_end_is_refused(server, folders, toy, known, monkeypatch):
    monkeypatch.setattr(download_module, "DEFAULT_MAX_BYTES", len(TRAIN) - 1)
    server.bodies["/toy.zip"] = zipped(train=TRAIN, test=TEST)
    with pytest.raises(DataFormatError, match=f"at most {len(TRAIN) - 1} bytes"):
        finder(replace(toy, archive=server.address + "/toy.zip"))("train.txt")
    assert left_in(folders) == []


def test_a_mirror_that_is_no_address_is_told(folders, toy, known, monkeypatch):
    monkeypatch.setenv("VICINAL_DATA_URL", "nonsense")
    with pytest.raises(DataFormatError, match="nonsense/toy"):
        finder(toy)("train.txt")


def test_without_pooch_the_extra_is_named(folders, toy, known, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"pooch.*vicinal\[data\]"):
        finder(replace(toy, home="http://127.0.0.1:1"))("train.txt")


def test_a_missing_archive_is_told_with_its_address(server, folders, toy, known):
    with pytest.raises(DataNotFoundError, match=r"toy\.zip: .*404"):
        finder(replace(toy, archive=server.address + "/toy.zip"))("train.txt")
    assert left_in(folders) == []
