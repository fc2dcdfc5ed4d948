"""Stored results, from which tables and figures can be regenerated at any time.

Input: metrics of a method on a data set. Output: a file with one JSON line per result and its
provenance; and the store from which interrupted runs resume. Imports only ``_base`` and
``datasets``; used by ``selection``, ``comparison``, ``report`` and the reproduction of the papers.
"""

from vicinal.results.provenance import data_hash, machine, provenance
from vicinal.results.record import Result
from vicinal.results.store import ResultStore, ResumableStore

__all__ = ["Result", "ResultStore", "ResumableStore", "data_hash", "machine", "provenance"]
