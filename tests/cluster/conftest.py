"""A real cluster of two processes, started once and stopped after the tests of this folder."""

import threading
import warnings

import pytest

pytest.importorskip("distributed", reason="needs the extra [cluster]")

import dask
from forked_process import forking

dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})


@pytest.fixture(scope="session", autouse=True)
def imported():
    """Start workers, also those that replace killed ones, from a process that imported everything.

    Dask states at its first use which modules that process imports: ours are stated after that.
    """
    from distributed.utils import get_mp_context

    get_mp_context()
    forking()


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


@pytest.fixture
def in_the_middle(client):
    """Return what calls a function once a worker has ended a task of a search and has another.

    It returns the thread that waits for this moment.
    """
    is_over = threading.Event()
    threads = []

    def start(worker, function, *given):
        def wait():
            before = set()
            while not is_over.wait(0.005):
                now = set(client.processing().get(worker, ()))
                if now and before - now:
                    function(*given)
                    return
                before |= now

        threads.append(threading.Thread(target=wait))
        threads[-1].start()
        return threads[-1]

    yield start
    is_over.set()
    for thread in threads:
        thread.join()
