"""Persistence: a fitted part ⇄ a folder of plain arrays and a JSON manifest. Never pickle.

Input: a part with ``get_state()``. Output: a folder that is complete or not there at all; and
from such a folder the part again, memory-mapped, with every value checked before it is used. The
registry knows parts by name; estimators add themselves to it, none is imported here.
"""

from vicinal.persistence.folder import read_folder, write_folder
from vicinal.persistence.registry import register

__all__ = ["read_folder", "register", "write_folder"]
