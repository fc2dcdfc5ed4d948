"""What a run measured, kept: tables and figures are made from it and can be made again.

Comes in: metrics of a method on a data set. Goes out: a file with one JSON line per result and its
provenance; and the one store that interrupted runs resume from. Imports only ``_base`` and
``datasets``; ``selection``, ``comparison``, ``report`` and the reproduction of the papers write and
read it.
"""

from vicinal.results.provenance import data_hash, machine, provenance
from vicinal.results.record import Result
from vicinal.results.store import ResultStore, ResumableStore

__all__ = ["Result", "ResultStore", "ResumableStore", "data_hash", "machine", "provenance"]
