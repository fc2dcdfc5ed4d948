"""Encodings other than UTF-8 are recognised by their script and logged."""

import logging

import pytest

from vicinal.datasets import TableOptions, read_content

TEXTS = {
    "cp1252": "Die Größe des Hauses ist schön",
    "cp1250": "książki o historii miasta są w bibliotece, dom nad rzeką",
    "cp1251": "старый дом у реки и программа для чтения книг",
    "koi8_r": "старый дом у реки и программа для чтения книг",
    "cp1253": "το παλιό σπίτι δίπλα στο ποτάμι και βιβλία για την πόλη",
    "cp932": "昨日、私たちは公園で花を見ました。この図書館には本があります",
    "euc_jp": "昨日、私たちは公園で花を見ました。この図書館には本があります",
    "gb18030": "昨天我们在公园里看见了很多美丽的花，图书馆收藏了许多书籍",
    "cp949": "어제 우리는 공원에서 꽃을 보았습니다",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_script_tells_the_encoding(encoding, tmp_path, caplog):
    path = tmp_path / "notes.tsv"
    text = TEXTS[encoding]
    path.write_bytes(f"text\ttags\n{text}\ta\n{text} 2\tb\n".encode(encoding))
    with caplog.at_level(logging.INFO, logger="vicinal"):
        found = read_content(path)
    assert [text, f"{text} 2"] == found.X
    assert found.reading.encoding == encoding
    assert any(f"read as {encoding} (--encoding changes this)" in note for note in caplog.messages)


def test_a_given_encoding_is_used(tmp_path):
    path = tmp_path / "notes.tsv"
    path.write_bytes("text\ttags\nстарый дом\ta\n".encode("cp1251"))
    assert read_content(path, TableOptions(encoding="latin-1")).X != ["старый дом"]


def test_the_encoding_of_an_earlier_file_is_tried_first(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_bytes(f"text\ttags\n{TEXTS['cp1251']}\ta\n".encode("cp1251"))
    second.write_bytes("text\ttags\nда\ta\n".encode("cp1251"))
    known = read_content(first).reading
    assert read_content(second, known=known).X == ["да"]
