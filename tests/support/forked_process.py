"""Processes forked from one that has imported everything: a start takes no second."""

import multiprocessing
from multiprocessing.context import ForkServerContext

IMPORTED = (
    "distributed.nanny",
    "distributed.protocol.numpy",
    "distributed.protocol.scipy",
    "pytest",
    "vicinal.cli.serve",
    "vicinal.cluster",
    "vicinal.methods",
    "vicinal.service.server",
    "vicinal.service.telemetry",
)
"""Modules of servers and of workers of a cluster: :mod:`multiprocessing` starts one process to fork
from, which imports what was stated before its start."""


def forking() -> ForkServerContext:
    """Return a context whose processes find everything imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    return context
