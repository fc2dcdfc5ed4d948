"""``vicinal serve``: serve models over HTTP."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli.options import OptionGroup, option, with_options
from vicinal.cli.output import say
from vicinal.errors import InvalidArgumentError, MissingExtraError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
PortOption = Annotated[
    int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
]


class ServeOptions(OptionGroup):
    """The options of ``vicinal serve``."""

    host: str = option("Address to listen on.", default="127.0.0.1")
    port: PortOption = 8000
    store: Path | None = option("SQLite file for learned rows; by default beside the first model.")
    read_token: str | None = option("Token required for reading.", envvar="VICINAL_READ_TOKEN")
    write_token: str | None = option("Token required for changes.", envvar="VICINAL_WRITE_TOKEN")
    read_token_file: Path | None = option("File that holds the read token.")
    write_token_file: Path | None = option("File that holds the write token.")
    allow_host: list[str] | None = option(
        "Name by which a loopback service may be reached, such as that of a proxy."
    )
    vocabulary: Path | None = option(
        "Names of the labels: .tsv, .csv, .json, or SKOS; see `vicinal train`."
    )
    metrics: list[str] | None = option(
        "Output of `vicinal evaluate --json` to show: FILE, or ID=FILE."
    )


@with_options
def serve(
    models: Annotated[
        list[str],
        typer.Argument(help="Files of saved models; ID=FILE chooses the id.", metavar="MODEL…"),
    ],
    chosen: ServeOptions,
) -> None:
    """Serve models over HTTP, with a web page to try and teach them."""
    sources = named_folders(models)
    first = next(iter(sources.values())).resolve()
    start(
        sources,
        chosen.host,
        chosen.port,
        chosen.store or first.with_name(f"{first.name}.taught.sqlite"),
        token("--read-token", chosen.read_token, chosen.read_token_file),
        token("--write-token", chosen.write_token, chosen.write_token_file),
        chosen.vocabulary,
        evaluations(chosen.metrics or [], list(sources)),
        hosts=chosen.allow_host or (),
    )


def start(
    sources: dict[str, Path],
    host: str,
    port: int,
    store: Path,
    read_token: str | None,
    write_token: str | None,
    vocabulary: Path | None = None,
    metrics: Mapping[str, Mapping[str, float | None]] | None = None,
    examples: tuple[tuple[str, str], ...] = (),
    hosts: Sequence[str] = (),
) -> None:
    """Print what is served and who may change it, then serve until stopped."""
    from vicinal.persistence import read_header
    from vicinal.service import Limits, create_app

    try:
        from vicinal.service.annif_rest import read_vocabulary
        from vicinal.service.engine import About
        from vicinal.service.server import bound_sockets, run_server
        from vicinal.service.telemetry import log_as_json
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "serve") from None
    is_local, limits = host in LOOPBACK, Limits()
    words = {} if vocabulary is None else read_vocabulary(vocabulary)
    about = {each: About(examples, (metrics or {}).get(each), words) for each in sources}
    with bound_sockets(host, port) as sockets:
        log_as_json()
        for model in sources.values():
            read_header(model)  # what is no model leaves no database behind
        app = create_app(
            sources,
            store=store,
            read_token=read_token,
            write_token=write_token,
            loopback=is_local,
            hosts=hosts,
            limits=limits,
            about=about,
        )
        shown = f"[{host}]" if ":" in host else host
        bound = sockets[0].getsockname()[1]
        say(f"Serving {', '.join(sources)} at http://{shown}:{bound}/ (API: /docs)")
        say(f"Rows that the models learn are stored in {store} (--store)")
        say(_who_may_change(write_token is not None, is_local))
        run_server(app, sockets, limits)


def _who_may_change(has_token: bool, is_local: bool) -> str:
    """Return the sentence that says who may teach the models."""
    if has_token:
        return "Teaching the models requires the write token"
    if is_local:
        return "Anyone on this machine can teach the models (--write-token restricts it)"
    return "Read-only: nobody can teach the models without --write-token"


def named_folders(words: list[str]) -> dict[str, Path]:
    """Return the model files by id."""
    found: dict[str, Path] = {}
    for word in words:
        name, equals, folder = word.partition("=")
        path = Path(folder if equals else word)
        model_id = name if equals else path.resolve().name
        if model_id in found:
            raise InvalidArgumentError("MODEL", "different ids (ID=FOLDER)", f"{model_id} twice")
        found[model_id] = path
    return found


def evaluations(words: list[str], ids: list[str]) -> dict[str, dict[str, float | None]]:
    """Return the metrics of the models, read from files of ``vicinal evaluate --json``."""
    found: dict[str, dict[str, float | None]] = {}
    for word in words:
        name, equals, file = word.rpartition("=")
        model_id = name if equals else ids[0]
        if model_id not in ids or (not equals and len(ids) > 1):
            raise InvalidArgumentError("--metrics", f"ID=FILE with one of {', '.join(ids)}", word)
        try:
            content = json.loads(Path(file).read_text(encoding="utf-8"))
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise InvalidArgumentError("--metrics", "a file of vicinal evaluate --json", file)
        numbers = {key: value for key, value in content.items() if isinstance(value, float | int)}
        found[model_id] = {key: float(value) for key, value in numbers.items()}
    return found


def token(option: str, value: str | None, file: Path | None) -> str | None:
    """Return the token from an option, the environment or a file."""
    if value is not None and file is not None:
        raise InvalidArgumentError(option, f"either {option} or {option}-file", "both")
    if file is not None:
        value = file.read_text(encoding="utf-8").strip()
    if value is not None and not (len(value) >= 8 and value.isascii() and value.isprintable()):
        got = f"{len(value)} characters"
        raise InvalidArgumentError(option, "8 or more printable ASCII characters", got)
    return value
