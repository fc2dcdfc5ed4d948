from typing import Any

class SuggestionBatch:
    def __init__(self, array: Any) -> None: ...
