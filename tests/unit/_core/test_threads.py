"""A number of threads named once holds for everything called within, and nothing else."""

import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vicinal._core.threads import (
    Beside,
    in_threads,
    library_threads,
    one_blas_thread,
    one_library_thread,
    thread_count,
    using_threads,
)


def test_the_innermost_number_holds():
    outside = thread_count()
    with using_threads(3):
        with using_threads(2):
            assert thread_count() == 2
        with using_threads(None):
            assert thread_count() == 3
        assert (thread_count(), thread_count(7)) == (3, 7)
    assert thread_count() == outside


def test_all_means_all_within_a_number_too():
    everything = thread_count(-1)
    with using_threads(everything + 4):
        assert thread_count(-1) == everything


def test_an_error_ends_it():
    outside = thread_count()
    with pytest.raises(ZeroDivisionError), using_threads(outside + 1):
        raise ZeroDivisionError
    assert thread_count() == outside


def test_another_thread_is_not_told():
    outside, seen = thread_count(), []
    with using_threads(outside + 1):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
    assert seen == [outside]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2"])
def test_a_number_that_is_none_is_refused(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs"), using_threads(n_jobs):
        pass


def test_none_keeps_the_limit_of_the_caller():
    with threadpool_limits(1, user_api="openmp"), using_threads(None):
        assert thread_count() == thread_count(-1)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 9])
def test_in_threads_keeps_the_order(n_jobs, n_items):
    with using_threads(n_jobs):
        found = in_threads(lambda item: (item, thread_count()), iter(range(n_items)))
    inside = n_jobs if n_items < 2 else 1
    assert found == [(item, inside) for item in range(n_items)]


def test_in_threads_raises_what_an_item_raises():
    with using_threads(2), pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 / item, [1, 2, 0, 3])


def test_in_threads_takes_items_as_the_work_goes_on():
    done, ahead = [], []

    def items():
        for item in range(20):
            ahead.append(item - len(done))
            yield item

    with using_threads(2):
        in_threads(done.append, items())
    assert max(ahead) <= 4


def test_a_result_beside_is_there_after_a_while_and_is_computed_again_if_it_failed():
    failures = [ValueError("once")]

    def work():
        if failures:
            raise failures.pop()
        return 7

    beside = Beside(work)
    assert beside.result() == 7
    assert beside.is_ready
    assert Beside(lambda: 8).result() == 8
    assert deepcopy(beside) is None


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.parametrize("first", [one_blas_thread, library_threads])
def test_every_thread_can_limit_blas_whichever_did_so_first(first):
    outside = blas_threads()
    with using_threads(2), first():
        pass
    with ThreadPoolExecutor(1) as pool:

        def limited():
            with one_blas_thread():
                alone = blas_threads()
                with using_threads(2), library_threads():
                    return alone, blas_threads()

        assert pool.submit(limited).result() == ({1}, {2})
    assert blas_threads() == outside


def test_the_last_thread_that_leaves_restores_the_threads_of_blas():
    outside = blas_threads()
    with ThreadPoolExecutor(1) as pool:
        within = one_blas_thread()
        within.__enter__()
        pool.submit(within.__enter__).result()
        within.__exit__()
        assert blas_threads() == {1}
        pool.submit(within.__exit__).result()
    assert blas_threads() == outside


@pytest.mark.parametrize("leaves_first", [0, 1])
def test_limits_that_overlap_leave_nothing_behind(leaves_first):
    outside = threadpool_info()
    contexts = [one_blas_thread(), library_threads()]
    with using_threads(2):
        for context in contexts:
            context.__enter__()
    assert blas_threads() == {2}
    contexts.pop(leaves_first).__exit__(None, None, None)
    assert blas_threads() == {1 if leaves_first else 2}
    contexts.pop().__exit__(None, None, None)
    assert threadpool_info() == outside


def test_one_library_thread_limits_openmp_on_any_thread():
    with one_library_thread():
        pass

    def counts():
        with one_library_thread():
            return {each["num_threads"] for each in threadpool_info()}

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(counts).result() == {1}
