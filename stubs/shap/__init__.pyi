from typing import Any

class Explanation:
    def __init__(
        self,
        values: Any,
        base_values: Any = ...,
        data: Any = ...,
        feature_names: list[str] | None = ...,
    ) -> None: ...
