import gzip
import time

import pytest

from vicinal.datasets.mulan import read_mulan
from vicinal.errors import DataFormatError

pytestmark = pytest.mark.native

HEADER = """@relation r
@attribute a numeric
@attribute b {x,y}
@attribute t {0,1}
@data
"""
XML = '<labels><label name="t"/></labels>'


def refused(folder, arff=HEADER, xml=XML, **options):
    """Read the two files and return the error."""
    for name, content in (("d.arff", arff), ("d.xml", xml)):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataFormatError) as caught:
        read_mulan(folder / "d.arff", **options)
    return caught.value


@pytest.mark.parametrize(
    ("row", "expected", "got"),
    [
        ("1,x", "3 values, one an attribute", "2"),
        ("1,x,1,7", "3 values, one an attribute and no more", "'7'"),
        ("?,x,1", "a value (missing values are not supported)", "'?'"),
        ("1,?,1", "a value (missing values are not supported)", "'?'"),
        ("1,x,?", "a value (missing values are not supported)", "'?'"),
        ("nan,x,1", "a finite number", "'nan'"),
        ("-inf,x,1", "a finite number", "'-inf'"),
        ("word,x,1", "a finite number", "'word'"),
        ("1,z,1", "one of the 2 values of attribute 1", "'z'"),
        ("1,x,2", "one of the 2 values of attribute 2", "'2'"),
        ("{3 1}", "an attribute number from 0 to 2", "'3'"),
        ("{0 1,0 2}", "each attribute once", "attribute 0 twice"),
        ("{0 1", "a comma or '}' after a value", "the end of the line"),
        ("1,\u00e9,1", "one of the 2 values of attribute 1", "'\u00e9'"),
    ],
)
def test_bad_rows(tmp_path, row, expected, got):
    error = refused(tmp_path, f"{HEADER}0,x,0\n{row}\n0,y,0\n")
    assert (error.line, error.expected, error.got) == (7, expected, got)
    assert error.path == str(tmp_path / "d.arff")


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("@data", "@dat", None, "a line '@data'"),
        ("@attribute a numeric", "@attribute a", 2, "an attribute's name and type"),
        ("@attribute a numeric", "@attribute 'a numeric", 2, "an attribute's name and type"),
        ("@attribute a numeric", "@attribute a number", 2, "a type numeric"),
        ("@attribute a numeric", "attribute a numeric", 2, "@relation, @attribute or @data"),
        ("@attribute a numeric", "@attribute a string", 2, "a numeric or nominal attribute"),
        ("@attribute a numeric", "@attribute a date", 2, "a numeric or nominal attribute"),
        ("{x,y}", "{x,y", 3, "values in"),
        ("{x,y}", "{x,'y}", 3, "values in"),
        ("{x,y}", "{x,x}", 3, "distinct values"),
        ("{x,y}", "{}", 3, "distinct values"),
        ("{x,y}", "{x,y} z", 3, "values in"),
        ("{0,1}", "{0,1,2}", 4, "a 0/1 attribute for label 't'"),
        ("{0,1}", "string", 4, "a 0/1 attribute for label 't'"),
    ],
)
def test_bad_headers(tmp_path, old, new, line, expected):
    error = refused(tmp_path, HEADER.replace(old, new))
    assert error.line == line
    assert error.expected.startswith(expected)


def test_empty_files_and_no_attributes(tmp_path):
    assert refused(tmp_path, "").got == "an empty file"
    assert refused(tmp_path, "@relation r\n@data\n1\n").expected == "attributes before '@data'"


def test_other_encodings(tmp_path):
    assert refused(tmp_path, HEADER.encode("utf-16")).got == "text in UTF-16"
    error = refused(tmp_path, HEADER.encode().replace(b"y}", b"\xff}"))
    assert (error.line, error.got) == (3, "byte 0xff")


def test_broken_archives(tmp_path):
    (tmp_path / "d.xml").write_text(XML)
    path = tmp_path / "d.arff.gz"
    path.write_bytes(gzip.compress(HEADER.encode())[:-4])
    with pytest.raises(DataFormatError, match=r"complete \.gz archive"):
        read_mulan(path)
    path.write_bytes(gzip.compress(HEADER.encode() + b"%" * 10**6))
    with pytest.raises(DataFormatError, match="at most 99999 bytes"):
        read_mulan(path, max_bytes=99_999)


def test_labels_that_are_not_attributes(tmp_path):
    error = refused(tmp_path, xml='<labels><label name="t"/>\n<label name="u"/></labels>')
    assert error.path.endswith("d.xml")
    assert error.expected == "labels that are attributes of d.arff"
    assert error.got == "'u', which is not one"


def test_a_label_that_is_two_attributes(tmp_path):
    error = refused(tmp_path, HEADER.replace("@attribute a numeric", "@attribute t {0,1}"))
    assert error.expected == "one attribute per label"


def test_no_xml(tmp_path):
    (tmp_path / "d-train.arff").write_text(HEADER)
    with pytest.raises(DataFormatError, match=r"an XML file of its labels.*no d-train\.xml"):
        read_mulan(tmp_path / "d-train.arff")


@pytest.mark.parametrize(
    ("xml", "line", "expected"),
    [
        ("", 1, "well-formed XML"),
        ("<labels>\n<label name='t'>", 2, "well-formed XML"),
        ("<label name='t'/>", 1, "an element <labels>"),
        ("<labels>\n<label/></labels>", 2, "a label's name"),
        ("<labels><label name='t'/><label name='t'/></labels>", None, "each label once"),
        (b"<labels><label name='\xff'/></labels>", 1, "well-formed XML"),
        ("<?xml version='1.0' encoding='utf-9'?><labels/>", 1, "a known encoding"),
        ("<?xml version='1.0' encoding='utf-7'?><labels/>", 1, "a known encoding"),
    ],
)
def test_bad_xml(tmp_path, xml, line, expected):
    error = refused(tmp_path, xml=xml)
    assert (error.line, error.expected) == (line, expected)
    assert error.path.endswith("d.xml")


def test_entities_are_refused_before_they_unfold(tmp_path):
    layers = "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha" * 1000}">\n' for i in range(12)
    )
    xml = f"<!DOCTYPE labels [\n{layers}]>\n<labels><label name='&e11;'/></labels>"
    start = time.process_time()
    error = refused(tmp_path, xml=xml)
    assert time.process_time() - start < 5
    assert error.expected == "XML without entities of its own"
    assert error.line == 2


def test_a_doctype_without_entities_is_harmless(tmp_path):
    (tmp_path / "d.arff").write_text(HEADER + "1,x,1\n")
    (tmp_path / "d.xml").write_text(f"<!DOCTYPE labels SYSTEM 'labels.dtd'>{XML}")
    assert read_mulan(tmp_path / "d.arff").Y.nnz == 1
