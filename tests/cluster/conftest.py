"""A real cluster of two processes, started once and stopped after the tests of this folder."""

import warnings

import pytest

pytest.importorskip("distributed", reason="needs the extra [cluster]")

import dask

# Workers start, and start again after a kill, from a process that has imported Dask.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})


@pytest.fixture(scope="module")
def cluster():
    import distributed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
        ) as local:
            yield local


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
