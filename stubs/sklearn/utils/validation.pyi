from typing import Any

def check_is_fitted(
    estimator: Any, attributes: str | list[str] | None = None, *, msg: str | None = None
) -> None: ...
def validate_data(
    _estimator: Any,
    /,
    X: Any = "no_validation",
    y: Any = "no_validation",
    reset: bool = True,
    validate_separately: bool = False,
    skip_check_array: bool = False,
    **check_params: Any,
) -> Any: ...
