"""``vicinal info``: what is inside a model file, from its header alone."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal.cli.options import ModelArgument
from vicinal.cli.output import JsonFlag, print_facts, print_json
from vicinal.errors import ModelFormatError

if TYPE_CHECKING:
    from vicinal.persistence.model_file import ModelHeader

LARGEST = 5
"""How many arrays are named."""


def info(
    model: ModelArgument,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all arrays and compare their checksums.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Show what is inside a model file: method, parameters, sizes, labels, steps, versions.

    Only the header is read, so that it takes no longer for a large model than for a small one.
    """
    from vicinal.persistence.model_file import damaged_arrays, read_header

    facts = {"file": str(model), "bytes": model.stat().st_size if model.is_file() else None}
    facts |= header_facts(read_header(model))
    facts["arrays_checked"] = "all checksums match" if verify else "not read (see --verify)"
    if verify and (damaged := damaged_arrays(model)):
        raise ModelFormatError(f"{model}: damaged: the checksum of {damaged[0]!r} does not match")
    if json:
        print_json(facts)
    else:
        print_facts("Model", {name.replace("_", " "): _shown(facts[name]) for name in facts})


def header_facts(header: "ModelHeader") -> dict[str, Any]:
    """Return what a header says about its model, by name."""
    model = header.manifest.get("model")
    steps = list(_steps(model))
    last = steps[-1][1] if steps else {}
    sizes = {name: entry.stop - entry.start for name, entry in header.arrays.items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
    rows, features = _shape(last.get("X"), header)
    return {
        "saved": header.saved,
        "written_by": header.manifest.get("written_by"),
        "kind": "pipeline" if len(steps) > 1 or _part(model)[0] == "Pipeline" else "estimator",
        "method": steps[-1][0].partition(": ")[2] if steps else None,
        "parameters": {key: _plain(value) for key, value in _dict(last.get("params")).items()},
        "decision": _part(last.get("decision"))[0] or None,
        "rows": rows,
        "features": features,
        "labels": len_of(last.get("label_names")),
        "label_names": _first(last.get("label_names")),
        "steps": [name for name, _ in steps[:-1]],
        "arrays": len(sizes),
        "array_bytes": sum(sizes.values()),
        "largest_arrays": {name: sizes[name] for name in largest},
        "fingerprint": header.fingerprint,
        "header_checked": "its checksum matches",
    }


def _dict(value: Any) -> dict[str, Any]:
    """Return a value that should be a JSON object; files of others may hold anything."""
    return value if isinstance(value, dict) else {}


def _part(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the short name of a saved part, and its state."""
    name, state = _dict(value).get("$part"), _dict(_dict(value).get("state"))
    kind = state.get("kind") if name == "persistence.SklearnStep" else name
    return str(kind or "").rpartition(".")[2], state


def _steps(model: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each step of a pipeline as ``name: type`` with its state; an estimator is one step."""
    name, state = _part(model)
    if name != "Pipeline":
        if name:
            yield f"estimator: {name}", state
        return
    names, parts = state.get("names"), state.get("steps")
    if isinstance(names, list) and isinstance(parts, list):
        for step, part in zip(names, parts, strict=False):
            kind, inner = _part(part)
            yield f"{step}: {kind}", inner


def _shape(X: Any, header: "ModelHeader") -> tuple[int | None, int | None]:
    """Return the number of training rows and features."""
    shape = _dict(X).get("$csr")
    entry = header.arrays.get(str(_dict(X).get("$array")))
    sizes = shape if isinstance(shape, list) else entry.shape if entry else ()
    return (sizes[0], sizes[1]) if len(sizes) == 2 else (None, None)


def len_of(names: Any) -> int | None:
    """Return how many names there are, in the header or in an array."""
    count = len(names) if isinstance(names, list) else _dict(names).get("$texts")
    return count if type(count) is int else None


def _first(names: Any) -> list[str]:
    """Return the first names."""
    listed = names if isinstance(names, list) else _dict(names).get("first")
    return [str(name) for name in listed[:LARGEST]] if isinstance(listed, list) else []


def _plain(value: Any) -> Any:
    """Return a parameter as people write it."""
    found = _dict(value)
    if "$float" in found:
        return str(found["$float"])
    if "$array" in found:
        return "an array"
    return _part(value)[0] or "…" if found else value


def _shown(value: Any) -> Any:
    """Return a fact on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return value
