"""The one value that every reader makes and every writer takes."""

from dataclasses import dataclass

from vicinal._base.arrays import Csr, Features, Int


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with features and labels.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, m)
        Features; CSR where the content is sparse.
    Y : csr_array of int32, shape (n, L)
        Label indicator: canonical, every stored value 1.
    feature_names, label_names : tuple of str
    row_names : tuple of str or None
    train, test : ndarray of int64 or None
        Row ids of a published split, rising, disjoint; None where there is none.
    source : str
        Where the rows came from: a catalogue name or a file name.
    """

    X: Features
    Y: Csr
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    row_names: tuple[str, ...] | None = None
    train: Int | None = None
    test: Int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Check the parts against each other and freeze the arrays."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        """Number of features."""
        raise NotImplementedError

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        raise NotImplementedError

    @property
    def cardinality(self) -> float:
        """Mean number of labels of a row."""
        raise NotImplementedError

    @property
    def density(self) -> float:
        """Cardinality as a share of the labels."""
        raise NotImplementedError

    def subset(self, rows: object) -> "Dataset":
        """Return the data set of some rows, in the order given, without a split."""
        raise NotImplementedError

    def split(self) -> tuple["Dataset", "Dataset"]:
        """Return the training and the test rows as data sets."""
        raise NotImplementedError

    def statistics(self) -> dict[str, float]:
        """Return the figures that describe the data set."""
        raise NotImplementedError
