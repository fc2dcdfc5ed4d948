"""The number of directions requested and found."""

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_real
from vicinal._base.warn import warn_user
from vicinal.reduction._directions import FEW_LABELS


def check_components(n_components: object) -> int | None:
    """Return a number of at least 1, or None."""
    return None if n_components is None else check_integer("n_components", n_components, low=1)


def check_regularization(regularization: object) -> float:
    """Return a number above 0."""
    share = check_real("regularization", regularization, low=0.0)
    if share == 0:
        raise InvalidArgumentError("regularization", "a number above 0", share)
    return share


def directions_wanted(n_components: int | None, n_labels: int) -> int:
    """Return the number of directions to find: at most one per label.

    Examples
    --------
    >>> directions_wanted(None, 14), directions_wanted(64, 14), directions_wanted(3, 14)
    (14, 14, 3)
    """
    if n_components is None and n_labels > FEW_LABELS:
        raise InvalidArgumentError(
            "n_components", f"a number, because there are more than {FEW_LABELS} labels", None
        )
    return n_labels if n_components is None else min(n_components, n_labels)


def report_found(n_components: int | None, n_found: int) -> None:
    """Raise if no direction was found, warn if fewer were found than requested."""
    if n_found == 0:
        raise InvalidArgumentError(
            "X, Y", "a feature that varies with a label", "features or labels that do not vary"
        )
    if n_components is not None and n_found < n_components:
        warn_user(
            f"n_components={n_components}: the labels and features only have {n_found} "
            "directions, which are used"
        )
