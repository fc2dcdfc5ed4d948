"""A number of threads named once holds for everything called within, and nothing else."""

import threading

import pytest
from threadpoolctl import threadpool_limits

from vicinal._base.threads import thread_count, using_threads


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
