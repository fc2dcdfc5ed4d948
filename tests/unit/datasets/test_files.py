import bz2
import errno
import gzip
import io
import lzma
import os

import pytest

from vicinal.datasets import data_files as files
from vicinal.datasets.data_files import bare_name, decode, open_data, open_text, write_data
from vicinal.datasets.dataset import find_beside, read_names
from vicinal.datasets.texts import read_texts
from vicinal.errors import DataFormatError, InvalidArgumentError

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
CONTENT = b"".join(b"line %d\n" % (i * i) for i in range(5000))


@pytest.mark.parametrize("ending", PACK)
def test_unpacks_by_name_and_by_content(tmp_path, ending):
    for name in (f"data.txt{ending}", f"data.txt{ending.upper()}", "data.txt"):
        path = tmp_path / name
        path.write_bytes(PACK[ending](CONTENT))
        assert open_data(path) == CONTENT
        assert open_data(str(path)) == CONTENT


@pytest.mark.parametrize("ending", PACK)
def test_unpacks_archives_of_nothing_and_of_several_parts(tmp_path, ending):
    path = tmp_path / f"data{ending}"
    path.write_bytes(PACK[ending](b""))
    assert open_data(path) == b""
    path.write_bytes(PACK[ending](b"one ") + PACK[ending](b"two"))
    assert open_data(path) == b"one two"


def test_plain_files_come_as_they_are(tmp_path):
    path = tmp_path / "data.txt"
    for content in (b"", b"BZh is how this text begins", b"\x1f", CONTENT):
        path.write_bytes(content)
        assert open_data(path) == content


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_truncated_archives_are_refused(tmp_path, ending, share):
    path = tmp_path / f"cut{ending}"
    packed = PACK[ending](CONTENT)
    path.write_bytes(packed[: max(16, int(len(packed) * share))])
    with pytest.raises(DataFormatError, match=rf"cut{ending}: expected a complete {ending}"):
        open_data(path)


@pytest.mark.parametrize("ending", PACK)
def test_corrupt_archives_are_refused(tmp_path, ending):
    path = tmp_path / f"bad{ending}"
    packed = bytearray(PACK[ending](CONTENT))
    middle = len(packed) // 2
    packed[middle : middle + 8] = bytes(255 - byte for byte in packed[middle : middle + 8])
    path.write_bytes(packed)
    with pytest.raises(DataFormatError, match=f"bad{ending}: expected a complete"):
        open_data(path)


@pytest.mark.parametrize("ending", PACK)
def test_a_name_must_keep_its_promise(tmp_path, ending):
    path = tmp_path / f"data{ending}"
    others = [pack(b"x") for other, pack in PACK.items() if other != ending]
    for content in (b"", b"plain text", *others):
        path.write_bytes(content)
        with pytest.raises(DataFormatError, match="as its name says"):
            open_data(path)


@pytest.mark.parametrize("ending", ["", *PACK])
def test_an_archive_without_end_is_stopped(tmp_path, ending):
    path = tmp_path / f"bomb{ending}"
    zeros = bytes(12_000_000)
    path.write_bytes(PACK[ending](zeros) if ending else zeros)
    with pytest.raises(DataFormatError, match="at most 1000000 bytes when unpacked"):
        open_data(path, max_bytes=1_000_000)
    assert len(open_data(path, max_bytes=12_000_000)) == 12_000_000
    with pytest.raises(DataFormatError, match="at most 11999999"):
        open_data(path, max_bytes=11_999_999)


@pytest.mark.parametrize("ending", PACK)
def test_a_tiny_archive_unpacks_to_no_more_than_a_thousand_times_its_size(tmp_path, ending):
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(PACK[ending](bytes(50_000_000)))
    limit = max(2**24, 1000 * path.stat().st_size)
    with pytest.raises(
        DataFormatError, match=f"at most {limit} bytes when unpacked .max_bytes, or"
    ):
        open_data(path)


def test_a_pipe_is_refused_at_once(tmp_path):
    path = tmp_path / "pipe.xc"
    os.mkfifo(path)
    with pytest.raises(DataFormatError, match="expected a regular file, got a pipe"):
        open_data(path)
    with pytest.raises(DataFormatError, match="expected a regular file"):
        read_texts(path)


def test_a_device_is_refused(tmp_path):
    path = tmp_path / "zeros.txt"
    path.symlink_to("/dev/zero")
    with pytest.raises(DataFormatError, match="expected a regular file"):
        open_data(path)


def test_the_systems_own_errors_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_data(tmp_path / "none.gz")
    with pytest.raises(IsADirectoryError):
        open_data(tmp_path)
    with pytest.raises(InvalidArgumentError, match="max_bytes"):
        open_data(tmp_path, max_bytes=-1)


def test_text_is_utf8_unless_said(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("eins\nzwölf\n".encode("latin-1"))
    with pytest.raises(DataFormatError, match=r"text\.txt, line 2: .*utf-8.*byte 0xf6"):
        open_text(path)
    assert open_text(path, encoding="latin-1") == "eins\nzwölf\n"
    with pytest.raises(InvalidArgumentError, match="encoding"):
        open_text(path, encoding="cp1252")
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert open_text(path) == "abc"
    path.write_bytes("abc".encode("utf-16"))
    with pytest.raises(DataFormatError, match="line 1: expected text in UTF-8, got text in UTF-16"):
        open_text(path)


def test_decode_counts_lines_from_where_it_starts():
    with pytest.raises(DataFormatError) as caught:
        decode(b"ok\nok\n\xff", "some", first_line=10)
    assert caught.value.line == 12


@pytest.mark.parametrize("ending", ["", *PACK])
def test_what_is_written_reads_back(tmp_path, ending):
    path = tmp_path / f"out.txt{ending}"
    write_data(path, ["zwölf\n", b"\x00\xff"])
    assert open_data(path) == "zwölf\n".encode() + b"\x00\xff"
    first = path.read_bytes()
    write_data(path, ["zwölf\n", b"\x00\xff"])
    assert path.read_bytes() == first
    if ending:
        assert path.read_bytes().startswith(PACK[ending](b"")[:2])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt.gz"
    write_data(path, ["old"])

    def failing():
        yield "new"
        raise KeyError

    with pytest.raises(KeyError):
        write_data(path, failing())
    assert open_data(path) == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt.gz"]


def test_bare_name():
    assert bare_name("a/b.xc.txt.xz") == "b.xc.txt"
    assert bare_name("b.npz") == "b.npz"


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz"])
def test_a_disk_that_fails_is_no_damaged_archive(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)

    class Failing(io.BytesIO):
        def read(self, *_):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_stream", lambda *_: Failing())
    with pytest.raises(OSError, match="Input/output error"):
        open_data(path)


def test_names_that_only_look_like_json_stay_as_they_are(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text('"a\\nb"\n"half\\x"\n"\\ud800"\n"\nplain\n')
    found = read_names(path, 5, "label", "utf-8", 10**6)
    assert found == ("a\nb", '"half\\x"', '"\\ud800"', '"', "plain")


def test_nothing_is_beside_a_file_whose_folder_is_missing(tmp_path):
    assert find_beside(tmp_path / "none" / "x.arff", ["labels.txt"]) is None
