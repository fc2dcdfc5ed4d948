from collections.abc import Callable

from annif.backend.backend import AnnifBackend

_backend_fns: dict[str, Callable[[], type[AnnifBackend]]]
