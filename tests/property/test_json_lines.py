"""A file of JSON lines loses nothing that was whole, wherever its writing stopped."""

import fcntl
import os
import stat
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal._core.files import append_json_line, locked, read_json_lines
from vicinal.errors import DataFormatError

VALUES = st.none() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3), max_size=2)
LINES = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=4)


def read(path: Path) -> list[dict[str, Any]]:
    return list(read_json_lines(path, "a line", dict))


@mock.patch.object(os, "fsync", new=int)  # some thousand times, each a few ms
@settings(max_examples=12, deadline=None)
@given(lines=LINES)
def test_cut_at_any_byte_every_whole_line_before_survives(lines, tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "file"
    ends = []
    for line in lines:
        append_json_line(path, line)
        ends.append(path.stat().st_size)
    content = path.read_bytes() if lines else b""
    assert read(path) == lines
    new = {"new": "é"}
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        whole = lines[: sum(end - 1 <= cut for end in ends)]  # the line end itself may be missing
        assert read(path) == whole
        append_json_line(path, new)
        assert read(path) == [*whole, new]
        assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("damaged", [b"{", b'{"a": 1', b"[1]", b"1", b"", b"text", b"\xff\xfe"])
def test_damage_before_the_end_names_path_and_line(damaged, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1}\n' + damaged + b'\n{"a": 2}\n')
    with pytest.raises(DataFormatError, match=r"file, line 2: expected a line, got") as error:
        read(path)
    assert (error.value.path, error.value.line) == (str(path), 2)


def test_what_the_reader_refuses_is_named_too(tmp_path):
    def refuse(parts):
        return {1: "one"}[parts["a"]] if parts["a"] == 1 else int("two")

    append_json_line(tmp_path / "file", {"a": 1})
    append_json_line(tmp_path / "file", {"a": 2})
    lines = read_json_lines(tmp_path / "file", "a line", refuse)
    assert next(lines) == "one"
    with pytest.raises(DataFormatError, match="line 2: expected a line, got invalid literal"):
        next(lines)


@pytest.mark.parametrize("content", [b"notes of mine", b"\x00\x01", b'{"a": 1}', b"[", b"a\nb"])
def test_a_file_of_something_else_loses_no_byte(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    append_json_line(tmp_path / "file", {"b": 2})
    assert (tmp_path / "file").read_bytes() == content + b'\n{"b": 2}\n'


def test_a_line_is_forced_to_disk_after_it_is_written(tmp_path, monkeypatch):
    path, sizes = tmp_path / "file", []

    def note(file):
        if stat.S_ISREG(os.fstat(file).st_mode):
            sizes.append(os.fstat(file).st_size)

    monkeypatch.setattr(os, "fsync", note)
    for line in ({"a": 1}, {"b": "é"}):
        append_json_line(path, line)
        assert sizes[-1] == path.stat().st_size
    assert len(sizes) == 2


def test_not_a_number_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        append_json_line(tmp_path / "file", {"a": float("nan")})
    assert not (tmp_path / "file").exists()


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    """A line that another process has half written is no rest of a writer that died."""
    path = tmp_path / "file"
    append_json_line(path, {"k": 1})
    writer = threading.Thread(target=append_json_line, args=(path, {"k": 3}))
    with path.open("ab") as other:
        with locked(tmp_path / "file.lock"):
            other.write(b'{"k": ')
            other.flush()
            writer.start()
            writer.join(timeout=0.2)
            assert writer.is_alive()
            other.write(b"2}\n")
            other.flush()
        writer.join(timeout=60)
    assert read(path) == [{"k": 1}, {"k": 2}, {"k": 3}]


def test_a_line_is_written_where_there_are_no_locks(tmp_path: Path) -> None:
    with mock.patch.object(fcntl, "flock", side_effect=OSError(95, "Operation not supported")):
        append_json_line(tmp_path / "file", {"k": 1})
    assert read(tmp_path / "file") == [{"k": 1}]
