from typing import Any, ClassVar

from annif.project import AnnifProject

class AnnifBackend:
    name: str
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]]
    backend_id: str
    project: AnnifProject
    datadir: str

class AnnifLearningBackend(AnnifBackend): ...
