from collections.abc import Iterable

class Document:
    text: str
    subject_set: Iterable[int]

class DocumentCorpus:
    documents: Iterable[Document]
    def is_empty(self) -> bool: ...
