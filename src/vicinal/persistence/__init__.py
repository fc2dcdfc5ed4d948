"""Persistence: a fitted part ⇄ one file of plain arrays and a JSON header. Never pickle.

Input: a part with ``get_state()``. Output: a file in the safetensors layout that is complete or not
there at all, and from such a file the part again, with every value checked before it is used. The
registry knows parts by name. Estimators add themselves to it, and none is imported here.
"""

from vicinal.persistence.model_file import check_replaceable, read_header, read_model, write_model
from vicinal.persistence.saved_types import register

__all__ = ["check_replaceable", "read_header", "read_model", "register", "write_model"]
