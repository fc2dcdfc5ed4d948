"""``vicinal.rivals``, the former name of ``vicinal.baselines``, works and warns."""

import importlib
import runpy
import sys
import warnings

import pytest

import vicinal
from vicinal import baselines
from vicinal._base.deprecation import RIVALS

pytestmark = pytest.mark.native

DEPRECATED = pytest.mark.filterwarnings("ignore:vicinal.rivals is deprecated:DeprecationWarning")


WAYS = (
    "import vicinal.rivals",
    "from vicinal import rivals",
    "import vicinal; vicinal.rivals",
    "import vicinal; vicinal.rivals.BoosTexter",
    "from vicinal.rivals import BoosTexter",
    "from vicinal.rivals import *",
    "from vicinal.rivals.boostexter import BoosTexter",
)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_asking_for_the_former_name_warns(way, tmp_path, monkeypatch):
    (tmp_path / "way.py").write_text(way)
    for name in [each for each in sys.modules if each.startswith("vicinal.rivals")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(vicinal), "rivals", raising=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        runpy.run_path(tmp_path / "way.py")
    said = {str(each.message) for each in seen if each.category is DeprecationWarning}
    assert said == {RIVALS.message}


def test_a_warning_points_at_the_line_that_asks():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        sys.modules.pop("vicinal.rivals", None)
        from vicinal.rivals import BoosTexter
    assert BoosTexter is baselines.BoosTexter
    assert {each.category for each in seen} == {DeprecationWarning}
    assert {each.filename for each in seen} == {__file__}


@DEPRECATED
def test_it_has_the_same_names_and_no_others():
    former = importlib.import_module("vicinal.rivals")
    assert vicinal.rivals is former
    assert sorted(former.__all__) == sorted(baselines.__all__)
    for name in baselines.__all__:
        assert getattr(former, name) is getattr(baselines, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = former.nothing


def test_it_is_not_listed():
    assert "rivals" not in vicinal.__all__


@DEPRECATED
@pytest.mark.parametrize("name", baselines.__all__)
def test_a_class_is_found_where_a_pickle_of_before_looks_for_it(name):
    kind = getattr(baselines, name)
    former = importlib.import_module(kind.__module__.replace("baselines", "rivals"))
    assert getattr(former, name) is kind
