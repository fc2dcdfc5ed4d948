from collections.abc import Iterator

from vicinal._base.arrays import Int

class KFold:
    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: object = None
    ) -> None: ...
    def split(
        self, X: object, y: object = None, groups: object = None
    ) -> Iterator[tuple[Int, Int]]: ...
