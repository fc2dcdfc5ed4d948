"""What a run measured, kept: tables and figures are made from it and can be made again.

Comes in: metrics of a method on a data set. Goes out: a file of one JSON line a result, with where
it came from. Imports only ``_base`` and ``datasets``; ``comparison``, ``report`` and the
reproduction of the papers write and read it.
"""

from vicinal.results.provenance import data_hash, machine, provenance
from vicinal.results.record import Result
from vicinal.results.store import ResultStore

__all__ = ["Result", "ResultStore", "data_hash", "machine", "provenance"]
