"""Tables without a header, folders of documents, spreadsheets, and what a model keeps of them."""

import gzip
import io
import logging
import zipfile

import pytest

from vicinal.datasets import Reading, TableOptions, load, read_content
from vicinal.datasets.tables.content import table_blocks
from vicinal.errors import DataFormatError, DataNotFoundError, InvalidArgumentError

URI = "http://example.org/subjects/p"
LINES = f'A "stray quote\t<{URI}1> <{URI}2>\nThe sea\t<{URI}2>\n'


def corpus(path, text=LINES):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["corpus.tsv", "corpus.tsv.gz"])
def test_texts_and_uris_need_no_header(name, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="vicinal"):
        found = read_content(corpus(tmp_path / name))
    assert found.X == ['A "stray quote', "The sea"]
    assert found.labels == [[f"{URI}1", f"{URI}2"], [f"{URI}2"]]
    assert found.reading.columns == ("text", "labels")
    assert not found.reading.quoting
    assert sum("no header" in note and "--columns" in note for note in caplog.messages) == 1


def test_blocks_of_a_table_without_a_header(tmp_path):
    known = read_content(corpus(tmp_path / "a.tsv")).reading
    options = TableOptions()
    blocks = list(table_blocks(tmp_path / "a.tsv", options, known, labelled=True, block_rows=1))
    assert {block.label_names for block in blocks} == {(f"{URI}1", f"{URI}2")}
    assert [block.X for block in blocks] == [['A "stray quote'], ["The sea"]]


def test_the_next_file_is_read_like_the_first(tmp_path):
    known = read_content(corpus(tmp_path / "a.tsv")).reading
    known = Reading.from_state(known.get_state())
    plain = corpus(tmp_path / "b.tsv", 'No "uris\tnone\n')
    assert read_content(plain, known=known, labelled=False).X == ['No "uris']
    texts_only = corpus(tmp_path / "c.tsv", 'Only "a text\nAnother\n')
    assert read_content(texts_only, known=known, labelled=False).X == ['Only "a text', "Another"]
    with_header = corpus(tmp_path / "d.tsv", "text\tlabels\nThe sea\t\n")
    assert read_content(with_header, known=known, labelled=False).X == ["The sea"]


def test_quotes_are_remembered(tmp_path):
    text = 'text\ttags\nA "stray quote\ta\n"b" c\tb\n'
    first = read_content(corpus(tmp_path / "a.tsv", text), TableOptions(quoting=False))
    assert first.X == ['A "stray quote', '"b" c']
    assert read_content(tmp_path / "a.tsv", known=first.reading).X == first.X
    with pytest.raises(DataFormatError, match="--no-quotes"):
        read_content(tmp_path / "a.tsv")


def test_a_header_stays_a_header(tmp_path):
    path = corpus(tmp_path / "a.tsv", f"text\tlabels\nThe sea\t{URI}1\n")
    found = read_content(path)
    assert (found.X, found.labels, found.reading.columns) == (["The sea"], [[f"{URI}1"]], ())


def test_brackets_are_removed_from_uris_only(tmp_path):
    path = corpus(tmp_path / "a.csv", f"text,tags\nx,<{URI}1>;<b>\ny,<b>\n")
    assert read_content(path).labels == [[f"{URI}1", "<b>"], ["<b>"]]


def folder(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_folder_of_documents_with_uris(tmp_path, caplog):
    files = {
        "b.txt": "Ein altes Haus\nam Fluss",
        "b.tsv": f"<{URI}1>\tHäuser\n<{URI}2>\tFlüsse\n",
        "b.key": "Häuser\nFlüsse\n",
        "a.txt": "Das Meer",
        "a.tsv": f"<{URI}3>\tMeere\n",
        "c.txt": "Ohne Schlagwörter",
    }
    with caplog.at_level(logging.INFO, logger="vicinal"):
        found = read_content(folder(tmp_path, files))
    assert found.X == ["Das Meer", "Ein altes Haus\nam Fluss"]
    assert found.labels == [[f"{URI}3"], [f"{URI}1", f"{URI}2"]]
    assert found.row_names == ("a", "b")
    assert any("1 documents without such a file are left out" in note for note in caplog.messages)
    new = read_content(tmp_path, known=found.reading, labelled=False)
    assert new.row_names == ("a", "b", "c")


def test_a_folder_of_documents_with_keys(tmp_path):
    files = {"a.txt": "Ett gammalt hus", "a.key": "hus\nstäder\n", "b.txt": "Havet", "b.key": "hav"}
    path = folder(tmp_path, files)
    assert read_content(path).labels == [["hus", "städer"], ["hav"]]
    assert load(str(path)).label_names == ("hav", "hus", "städer")


def test_a_folder_that_exists_is_not_missing(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected documents NAME\.txt"):
        load(str(tmp_path))
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DataFormatError, match=r"expected labels in NAME\.tsv or NAME\.key"):
        load(str(tmp_path))
    with pytest.raises(DataNotFoundError):
        load(str(tmp_path / "missing"))


def test_documents_in_another_encoding_are_logged_once(tmp_path, caplog):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_bytes("Ein schönes altes Gebäude".encode("cp1252"))
        (tmp_path / f"{name}.key").write_text("x")
    with caplog.at_level(logging.INFO, logger="vicinal"):
        assert read_content(tmp_path).X == ["Ein schönes altes Gebäude"] * 3
    assert sum("not UTF-8" in note for note in caplog.messages) == 1


def test_documents_are_limited_together(tmp_path):
    path = folder(tmp_path, {"a.txt": "x" * 60, "b.txt": "x" * 60, "a.key": "k", "b.key": "k"})
    with pytest.raises(DataFormatError, match="at most 100 bytes in all documents"):
        read_content(path, TableOptions(max_bytes=100))


def spreadsheet(path, *sheets):
    """Write an .ods file by hand: sheets of rows of cells."""
    tables = ""
    for name, rows in sheets:
        lines = ["".join(map(_cell, row)) for row in rows]
        body = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
        tables += f'<table:table table:name="{name}">{body}</table:table>'
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{space}office:1.0" '
        f'xmlns:table="{space}table:1.0" xmlns:text="{space}text:1.0"><office:body>'
        f"<office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return path


def _cell(value):
    if isinstance(value, int | float):
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
    return (
        f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
    )


def test_a_spreadsheet_is_a_table(tmp_path, caplog):
    rows = [["text", "year", "tags"], ["The sea", 1999, "a;b"], ["A house", 2001.5, "b"]]
    path = spreadsheet(tmp_path / "book.ods", ("Empty", []), ("Notes", rows), ("More", rows))
    with caplog.at_level(logging.INFO, logger="vicinal"):
        found = read_content(path)
    assert found.X == ["The sea", "A house"]
    assert found.labels == [["a", "b"], ["b"]]
    assert any("sheet 'Notes' of 3 (--sheet changes this)" in note for note in caplog.messages)
    numbers = read_content(path, TableOptions(feature_columns=["year"], sheet="More"))
    assert numbers.X.tolist() == [[1999.0], [2001.5]]
    with pytest.raises(InvalidArgumentError, match="sheet: expected one of Empty, Notes, More"):
        read_content(path, TableOptions(sheet="Other"))


def test_an_xlsx_file_is_a_table(tmp_path):
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    rows = [["text", "tags"], ["The sea", "a;b"]]
    body = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>"
        for row in rows
    )
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{links}"><Relationship Id="r1" Type="{office}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{links}"><Relationship Id="r1" Type="{office}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
        )
    found = read_content(tmp_path / "x.xlsx")
    assert (found.X, found.labels) == (["The sea"], [["a", "b"]])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"text,tags\nx,y\n"])
def test_damaged_spreadsheets_are_refused(content, tmp_path):
    (tmp_path / "book.xlsx").write_bytes(content)
    with pytest.raises(DataFormatError, match=r"book\.xlsx: expected a spreadsheet"):
        read_content(tmp_path / "book.xlsx")


def test_a_spreadsheet_is_limited(tmp_path):
    path = spreadsheet(tmp_path / "book.ods", ("Notes", [["text", "tags"], ["x" * 5000, "a"]]))
    with pytest.raises(DataFormatError, match="at most 2000 bytes when unpacked"):
        read_content(path, TableOptions(max_bytes=2000))


def test_cells_count_with_their_cost_as_objects(tmp_path):
    """A small archive of many short cells would take hundreds of times its size in memory."""
    text = "text," + ",".join(f"c{n}" for n in range(1000)) + ",tags\n"
    text += ("x," + "10," * 1000 + "a\n") * 5000
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as packed:
        packed.write(text.encode())
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(stream.getvalue())
    assert len(stream.getvalue()) < 10**5
    with pytest.raises(DataFormatError, match="cells that take at most"):
        read_content(path)
    small = tmp_path / "small.csv"
    small.write_text("text,tags\n" + "a text,b\n" * 1000)
    assert read_content(small, TableOptions(max_bytes=200_000)).n_rows == 1000
    with pytest.raises(DataFormatError, match="cells that take at most 70000 bytes"):
        read_content(small, TableOptions(max_bytes=70_000))


def test_parquet_with_text_that_is_not_utf8_names_the_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    cells = pa.array([b"good", b"caf\xe9"], pa.binary()).cast(pa.string(), safe=False)
    table = pa.table({"text": cells, "labels": pa.array([["a"], ["b"]])})
    parquet.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(DataFormatError, match=r"bad\.parquet.*text in UTF-8"):
        read_content(tmp_path / "bad.parquet")


def test_a_model_of_a_folder_reads_a_table_without_a_header(tmp_path):
    (tmp_path / "texts").mkdir()
    files = {"a.txt": "Das Meer", "a.tsv": f"<{URI}1>\tMeere\n<{URI}2>\tWasser\n"}
    known = read_content(folder(tmp_path / "texts", files)).reading
    known = Reading.from_state(known.get_state())
    found = read_content(corpus(tmp_path / "b.tsv"), known=known)
    assert found.X == ['A "stray quote', "The sea"]
    assert found.labels == [[f"{URI}1", f"{URI}2"], [f"{URI}2"]]
    back = read_content(tmp_path / "texts", known=found.reading)
    assert (back.X, back.labels) == (["Das Meer"], [[f"{URI}1", f"{URI}2"]])
