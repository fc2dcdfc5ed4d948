"""Random changes of bytes and of nested values."""

import random
from copy import deepcopy
from typing import Any

NUMBERS = [
    b"0",
    b"-1",
    b"2147483648",
    b"99999999999999999999",
    b"nan",
    b"inf",
    b"1e999",
    b"4294967295",
]
MARKS = [bytes([byte]) for byte in b"\n ,:?'\"\\{}%\x00\r\t[]<&@"]
PIECES = [b"", b"\xff\xfe", b"@data", b"@attribute a {x,y}\n", b"\xef\xbb\xbf", *NUMBERS, *MARKS]
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 100, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, 1e-320,
    "", "x", "\x00", "inf", [], {}, [[]], [0], {"$float": "nan"}, {"$float": "inf"},
    {"$array": "x"}, {"$csr": [1, 1]}, {"$part": "decision.TopS", "state": {"s": None}},
    {"$part": "x", "state": {}},
]  # fmt: skip


def _node(loader: str, module: str, name: str, **content: Any) -> dict[str, Any]:
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 1, **content}


NODES: list[Any] = [
    *VALUES, "filename", "file", "/etc/passwd", "os", "system", "builtins", "eval", "sklearn",
    "ObjectNode", "FunctionNode", "TypeNode", "MethodNode", "PartialNode", "TreeNode", "JsonNode",
    "ListNode", "NdArrayNode", "numpy", "ndarray", '"filename"', '"file"', "[1e999]", "NaN", "-1",
    "99999999999", '"/etc/passwd"', '"object"', "[[[[]]]]",
    _node("FunctionNode", "os", "system"), _node("TypeNode", "builtins", "map"),
    _node("FunctionNode", "numpy", "mean"), _node("TypeNode", "numpy", "float64"),
    _node("JsonNode", "builtins", "str", content='"filename"', is_json=True),
    _node("JsonNode", "builtins", "str", content="123456789", is_json=True),
    _node("ListNode", "builtins", "list", content=[]),
    _node("ConstructorFromReduceNode", "pathlib", "Path", content={}),
    _node("OperatorFuncNode", "operator", "methodcaller", attrs={}),
]  # fmt: skip
"""What stands in descriptions by skops, and what must not."""


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with some replaced, cut out, repeated or put in."""
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at, length = rng.randrange(len(content) + 1), rng.choice([0, 0, 1, 1, 2, 8, 64])
        kind = rng.randrange(5)
        if kind == 0:
            piece = rng.choice(PIECES)
        elif kind == 1:
            piece = rng.randbytes(rng.choice([1, 1, 2, 4, 8]))
        elif kind == 2:
            piece = content[at : at + length] * rng.choice([2, 3, 50])
        elif kind == 3:
            start = rng.randrange(len(content) + 1)
            piece = content[start : start + rng.choice([1, 4, 16, 128])]
        else:
            piece = bytes(b ^ (1 << rng.randrange(8)) for b in content[at : at + length])
        content = content[:at] + piece + content[at + length :]
    return content if rng.random() < 0.95 else content[: rng.randrange(len(content) + 1)]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within a nested one."""
    found = [path] if path else []
    items: Any = ()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        found += places(each, (*path, key))
    return found


def changed(value: Any, rng: random.Random, values: list[Any] = VALUES) -> None:
    """Change one value within a nested one, in place: drop, replace or swap it."""
    paths = places(value)
    if not paths:
        return
    *way, last = rng.choice(paths)
    parent = value
    for key in way:
        parent = parent[key]
    kind = rng.randrange(4)
    if kind == 0 and isinstance(parent, dict):
        del parent[last]
    elif kind == 1:
        *other_way, other = rng.choice(paths)
        source = value
        for key in other_way:
            source = source[key]
        parent[last] = deepcopy(source[other])
    elif kind == 2 and isinstance(parent[last], int | float) and not isinstance(parent[last], bool):
        parent[last] = parent[last] + rng.choice([-1, 1, 2**31, -(2**40), 0.5])
    else:
        parent[last] = deepcopy(rng.choice(values))
