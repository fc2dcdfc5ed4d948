"""Names of one source share a family; groups join through others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "names",
    [
        ("libfoo1", "libfoo-dev", "libfoo-doc", "python3-foo", "foo", "foo-common", "foo-data"),
        ("libvorbis0a", "libvorbis-dev", "vorbis-tools"),
        ("libdb5.3", "libdb-dev", "libdb5.3-dev"),
        ("libgtk-3-0", "gtk-3-examples", "libgtk-3-dev"),
        ("ruby-rack", "librack-perl"),
        ("libstdc++-12-dev", "libstdc++-11-doc"),
        ("gcc-12", "gcc-12-base", "libgcc-12-dev-arm64-cross"),
    ],
)
def test_one_source_one_family(build, names):
    assert len({build.family(name) for name in names}) == 1


def test_other_packages_are_other_families(build):
    names = ("emacs", "vim", "0ad", "7zip", "mp3gain", "python3", "libpng-dev", "libjpeg-dev")
    assert len({build.family(name) for name in names}) == len(names)


@given(st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,20}", fullmatch=True))
def test_a_family_is_never_empty_and_is_part_of_the_name(build, name):
    assert build.family(name)
    assert build.family(name) in name


@given(st.lists(st.lists(st.integers(0, 12), max_size=3), max_size=12))
def test_groups_are_the_connected_rows(build, keys):
    # Brute force: spread the smallest row until nothing changes.
    expected = list(range(len(keys)))
    for _ in keys:
        for one, own in enumerate(keys):
            for other, theirs in enumerate(keys):
                if set(own) & set(theirs):
                    expected[one] = expected[other] = min(expected[one], expected[other])
    assert build.groups(keys) == expected
