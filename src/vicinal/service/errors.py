"""Errors that become replies."""


class ServiceError(Exception):
    """A request that gets an error reply: its status, a short code for programs, a sentence.

    Parameters
    ----------
    status : int
        HTTP status.
    code : str
        Stable word for programs, such as ``"unknown-model"``.
    message : str
        What is wrong, what was expected, what to do.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class ConflictError(ServiceError):
    """Another process committed the same version first; nothing was committed here."""


class StoreError(ValueError):
    """The store cannot be opened or is damaged; the message says what to do."""


def bad_value(field: str, expected: str, got: object) -> ServiceError:
    """Return the error for one value of a request.

    Examples
    --------
    >>> bad_value("top", "at most 1000", 5000).message
    'top: expected at most 1000, got 5000'
    """
    return ServiceError(422, "invalid-value", f"{field}: expected {expected}, got {got}")
