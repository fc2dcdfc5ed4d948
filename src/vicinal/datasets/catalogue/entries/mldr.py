"""Data sets of the R package mldr.datasets, converted to XC text; most have no split."""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Xc

_MLDR_HINT = "the files are conversions of mldr.datasets' .rda objects; no public address is known"


def _mldr(
    name: str,
    stem: str,
    shape: tuple[int, int, int],
    cardinality: float,
    *,
    packed: str = "gz",
    split: tuple[range, range] | None = None,
    notes: tuple[str, ...] = (),
) -> Entry:
    features = f"{stem}-features.txt" + (".xz" if packed == "xz" else "")
    train, test = split or (None, None)
    n_rows, n_features, n_labels = shape
    return Entry(
        name=name,
        folder=name,
        n_rows=n_rows,
        n_features=n_features,
        n_labels=n_labels,
        cardinality=cardinality,
        split=None if train is None or test is None else (len(train), len(test)),
        recipe=Xc(f"{stem}.xc.txt.{packed}", f"{stem}-labels.txt", features, train, test),
        source="mldr.datasets",
        licence="LGPL-3",
        notes=notes,
        hint=_MLDR_HINT,
    )


def _corel16k(
    number: str, shape: tuple[int, int, int], cardinality: float, train: range, test: range
) -> Entry:
    """Mark Mulan's test rows in the full file, and the rows before them as training rows."""
    note = f"test rows {test.start} to {test.stop - 1} are Mulan's test set; training rows "
    note += (
        "are all rows before it, which contain Mulan's training set and its harder test set "
        "(test3); where one ends and the other begins is unknown"
        if test.stop == shape[0]
        else "are the rows before it, presumably Mulan's; the rows after it, presumably test3, "
        "are in neither part"
    )
    name = f"corel16k{number}"
    return _mldr(name, name, shape, cardinality, split=(train, test), notes=(note,))


def _rcv1(number: int, cardinality: float) -> Entry:
    name = f"rcv1sub{number}"
    note = "Mulan publishes splits of 3000 + 3000; which rows they contain is unknown"
    return _mldr(name, name, (6000, 47236, 101), cardinality, packed="xz", notes=(note,))


def _yahoo_full(topic: str, shape: tuple[int, int, int], cardinality: float) -> Entry:
    name = f"yahoo-{topic}-full"
    note = f"all documents and all words of yahoo-{topic}, counts; no split"
    return _mldr(name, f"yahoo_{topic}", shape, cardinality, packed="xz", notes=(note,))


MLDR = (
    _corel16k("001", (13766, 500, 153), 2.859, range(12022), range(12022, 13766)),
    _corel16k("002", (13761, 500, 164), 2.882, range(5241), range(5241, 7024)),
    _corel16k("003", (13760, 500, 154), 2.829, range(5289), range(5289, 7006)),
    _rcv1(1, 2.880),
    _rcv1(2, 2.634),
    _rcv1(3, 2.614),
    _yahoo_full("arts", (7484, 23146, 26), 1.654),
    _yahoo_full("business", (11214, 21924, 30), 1.599),
    _yahoo_full("education", (12030, 27534, 33), 1.463),
    _yahoo_full("health", (9205, 30605, 32), 1.644),
    _yahoo_full("reference", (8027, 39679, 33), 1.174),
    _yahoo_full("science", (6428, 37187, 40), 1.450),
    _mldr("stackex-chemistry", "stackex_chemistry", (6961, 540, 175), 2.109),
    _mldr("stackex-cooking", "stackex_cooking", (10491, 577, 400), 2.225),
)
