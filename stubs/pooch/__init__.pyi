from os import PathLike

def retrieve(
    url: str,
    known_hash: str | None = None,
    fname: str | None = None,
    path: str | PathLike[str] | None = None,
) -> str: ...
