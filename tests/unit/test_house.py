"""The layout of the sources (``tools/house.py``): its rules, and that it finds what breaks them."""

import ast
import importlib.util
import re
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "house.py"
spec = importlib.util.spec_from_file_location("house", TOOL)
house = importlib.util.module_from_spec(spec)
spec.loader.exec_module(house)

FILES = house.modules()


def test_a_module_with_one_importer_belongs_to_it():
    assert house.single_importers(FILES) == {}


def test_each_reason_is_needed():
    found = house.importers(FILES)
    assert house.REASONS.keys() <= FILES.keys()
    assert {name for name in house.REASONS if len(found[name]) > 1} == set()


def test_no_module_name_occurs_twice():
    assert house.repeated_modules(FILES) == {}


def test_no_class_name_occurs_twice():
    assert house.repeated_classes(FILES) == {}


def test_no_constant_is_defined_twice():
    assert house.repeated_constants(FILES) == {}


def test_files_that_the_guides_name_exist():
    root = TOOL.parents[1]
    folders = root, root / "src", root / "native", house.SOURCES
    pages = [(root / name).read_text() for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")]
    named = {path for page in pages for path in re.findall(r"`([\w./*-]+/[\w.*-]*\.\w+)`", page)}
    real = {path for path in named if "NAME" not in path}
    assert len(real) > 50
    assert {path for path in real if not any(any(at.glob(path)) for at in folders)} == set()


def defined(tree: ast.Module) -> set[str]:
    """Return the names of what a module defines: functions, classes, constants and attributes."""
    nodes = list(ast.walk(tree))
    kinds = ast.FunctionDef, ast.ClassDef
    names = {node.name for node in nodes if isinstance(node, kinds)}
    named = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    stored = [node for node in named if isinstance(node.ctx, ast.Store)]
    return names | {node.id if isinstance(node, ast.Name) else node.attr for node in stored}


def test_references_in_docstrings_lead_somewhere():
    texts = {name: file.read_text() for name, file in FILES.items()}
    known = {part for name in FILES for part in name.split(".")}
    known |= {name for text in texts.values() for name in defined(ast.parse(text))}
    role = re.compile(r":(?:func|meth|class|mod|data|attr|exc):`~?(?:vicinal\.)?([\w.]+)`")
    found = {(name, to) for name, text in texts.items() for to in role.findall(text)}
    others = "rich", "sklearn", "threadpoolctl"
    own = {(name, to) for name, to in found if not to.startswith(others)}
    assert len(own) > 100
    assert {(name, to) for name, to in own if to.rpartition(".")[2] not in known} == set()


def test_what_breaks_the_rules_is_found(tmp_path):
    texts = {
        "__init__": "from pack.shown import Shown\n",
        "shown": "import pack.used\nfrom pack import helper\nclass Shown: pass\n",
        "used": "from pack.shown import Shown\nclass Twice: pass\n",
        "other": "def late():\n    from pack.used import Twice\n",
        "helper": "A, B = 1, 2\nclass Twice: pass\n",
        "inner/__init__": "",
        "inner/used": "from pack import other\nimport pack.other\nA = 2\nB: int = 2\n",
    }
    for name, text in texts.items():
        file = tmp_path / "pack" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    files = house.modules(tmp_path / "pack")
    assert house.importers(files)["pack.used"] == {"pack.shown", "pack.other"}
    assert house.single_importers(files) == {
        "pack.helper": "pack.shown",
        "pack.inner.used": "nobody",
        "pack.other": "pack.inner.used",
    }
    assert house.repeated_modules(files) == {"used": ["pack.inner.used", "pack.used"]}
    assert house.repeated_classes(files) == {"Twice": ["pack.helper", "pack.used"]}
    assert house.repeated_constants(files) == {"B = 2": ["pack.helper", "pack.inner.used"]}
