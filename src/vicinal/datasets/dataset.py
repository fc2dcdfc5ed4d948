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
