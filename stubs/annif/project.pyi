from typing import Protocol

class Subject:
    uri: str

class SubjectIndex(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, subject_id: int) -> Subject: ...
    def by_uri(self, uri: str, warnings: bool = ...) -> int | None: ...

class AnnifProject:
    subjects: SubjectIndex
