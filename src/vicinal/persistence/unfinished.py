"""Old names, until their users are moved."""

from vicinal._base.atomic_file import UNFINISHED as ENDING
from vicinal._base.atomic_file import remove_stale as remove_unfinished

__all__ = ["ENDING", "remove_unfinished"]
