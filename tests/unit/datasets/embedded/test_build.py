"""The tool that builds the embedded data set: reproducible, and the same from both sources."""

import gzip
import importlib
import json
import lzma

import numpy as np
import pytest

from vicinal.datasets.debtags import PATH, unpack

PACKAGES = {
    "libfoo1": ("Library of foo\nfoo, in short.", ("role::shared-lib", "devel::foo")),
    "libfoo-dev": ("Headers of foo\n\nC headers.", ("role::devel-lib", "devel::foo")),
    "bar": ("A bar, 2 bars", ("role::program", "devel::foo", "rare::one")),
    "baz": ("A bar, 2 bars", ("role::program", "devel::foo")),
    "quux": ("Quux for foo", ("role::program", "devel::foo")),
    "zot": ("Zot and foo", ("role::program", "devel::foo")),
    "zap": ("Nothing much", ("role::program",)),
}


@pytest.fixture
def extract(tmp_path):
    rows = [
        json.dumps({"package": name, "section": "x", "text": text, "tags": tags})
        for name, (text, tags) in PACKAGES.items()
    ]
    path = tmp_path / "extract.jsonl.gz"
    path.write_bytes(gzip.compress("".join(row + "\n" for row in rows).encode()))
    return path


@pytest.fixture
def index(tmp_path):
    packages, translation = "Package: untagged\nDescription-md5: none\n\n", ""
    for name, (text, tags) in PACKAGES.items():
        listed = ",\n ".join(sorted(tags))
        packages += f"Package: {name}\nVersion: 1\nDescription-md5: md5-{name}\nTag: {listed}\n\n"
        short, *more = text.split("\n")
        long = "".join(f" {line or '.'}\n" for line in more)
        translation += (
            f"Package: {name}\nDescription-md5: md5-{name}\nDescription-en: {short}\n{long}\n"
        )
    (tmp_path / "Packages.xz").write_bytes(lzma.compress(packages.encode()))
    (tmp_path / "Translation-en").write_text(translation)
    return tmp_path / "Packages.xz", tmp_path / "Translation-en"


def test_both_sources_give_the_same_packages(build, extract, index):
    read = importlib.import_module("debian_index")
    by_name = sorted(read.from_jsonl(extract))
    assert [one.name for one in by_name] == sorted(PACKAGES)
    assert sorted(read.from_index(*index)) == [
        one._replace(tags=tuple(sorted(one.tags))) for one in by_name
    ]


def run(build, monkeypatch, output, *sources):
    arguments = ["build_debtags.py", *map(str, sources), "-o", str(output)]
    monkeypatch.setattr("sys.argv", arguments)
    build.main()
    return output.read_bytes()


def test_the_file_depends_on_the_input_alone(build, extract, index, tmp_path, monkeypatch, capsys):
    first = run(build, monkeypatch, tmp_path / "one", extract)
    rows = gzip.decompress(extract.read_bytes()).splitlines(keepends=True)
    extract.write_bytes(gzip.compress(b"".join(reversed(rows))))
    assert run(build, monkeypatch, tmp_path / "two", extract) == first
    assert run(build, monkeypatch, tmp_path / "three", *index) == first
    assert "7 packages" in capsys.readouterr().out


def test_rare_tags_and_words_are_dropped(build, extract):
    built = build.contents(importlib.import_module("debian_index").from_jsonl(extract))
    assert built.row_names == ("bar", "baz", "libfoo-dev", "libfoo1", "quux", "zap", "zot")
    assert built.label_names == ("devel::foo", "role::program")
    assert built.feature_names == ("2", "a", "bar", "bars", "foo", "of")
    np.testing.assert_array_equal(built.Y.toarray()[0], [1, 1])
    np.testing.assert_array_equal(built.X.toarray()[0], [1, 1, 1, 1, 0, 0])


def test_families_and_equal_descriptions_stay_together(build):
    names = [
        f"lib{stem}{end}" for stem in "abcdefghijklmnopqrstuvwxyz" for end in ("aa1", "aa-dev")
    ]
    words = [{name} for name in names]
    chosen = build.in_test(names, words)
    assert 0 < chosen.sum() < len(names)
    np.testing.assert_array_equal(chosen[::2], chosen[1::2])
    joined = build.in_test(names, [{"same"} for _ in names])
    assert joined.all() or not joined.any()


@pytest.mark.data
def test_the_embedded_file_is_what_the_extract_gives(build):
    from vicinal.datasets.catalogue import entry
    from vicinal.datasets.catalogue.download import at_hand, finder

    if not at_hand(entry("debtags-text")):
        pytest.skip("debtags is not in a folder of $VICINAL_DATA")
    extract = finder(entry("debtags-text"))(entry("debtags-text").recipe.files[0])
    built = build.contents(importlib.import_module("debian_index").from_jsonl(extract))
    stored = unpack(PATH.read_bytes())
    for names in ("row_names", "feature_names", "label_names"):
        assert getattr(built, names) == getattr(stored, names)
    assert (built.X != stored.X).nnz == 0
    assert (built.Y != stored.Y).nnz == 0
    np.testing.assert_array_equal(built.train, stored.train)
    np.testing.assert_array_equal(built.test, stored.test)
    assert build.pack(built) == PATH.read_bytes()
