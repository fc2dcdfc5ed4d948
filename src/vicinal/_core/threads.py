"""The number of threads of the compiled core and of BLAS."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from itertools import chain, islice
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from threadpoolctl import ThreadpoolController, threadpool_limits

from vicinal._core.checks import check_integer
from vicinal.errors import InvalidArgumentError

Call = TypeVar("Call", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_THREADS = 1024
"""Maximum number of threads; more would only add overhead."""

_within: ContextVar[int | None] = ContextVar("threads of the surrounding call", default=None)


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads for `n_jobs`: −1 for all cores, −2 for all but one, and so on.

    None stands for the number of the surrounding call (:func:`using_threads`), or all cores.

    "All cores" are those this process may run on, or fewer if ``OMP_NUM_THREADS`` or a surrounding
    :func:`threadpoolctl.threadpool_limits` says so; joblib's worker processes set the former, so
    that parallel fits do not compete for cores. The maximum is ``MOST_THREADS``.
    """
    surrounding = _within.get()
    if n_jobs is None and surrounding is not None:
        return surrounding
    jobs = -1 if n_jobs is None else check_integer("n_jobs", n_jobs)
    if jobs == 0:
        raise InvalidArgumentError("n_jobs", "None or a non-zero integer", 0)
    return min(jobs, MOST_THREADS) if jobs > 0 else max(1, _available() + 1 + jobs)


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads of all calls inside the block that do not state their own.

    Functions between the caller that knows `n_jobs` and the loops need not pass it on. Applies to
    the current thread only; do not keep it open across a ``yield``.
    """
    token = _within.set(thread_count(n_jobs))
    try:
        yield
    finally:
        _within.reset(token)


def in_threads(do: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return what `do` makes of each item, on as many threads as the surrounding call may use.

    For work that holds Python's lock for a small part of its time. Whatever `do` calls runs on one
    thread, unless there is only one item; BLAS always does, so that results do not depend on it.
    """

    def alone(item: Item) -> Result:
        with using_threads(1):
            return do(item)

    source, n_threads = iter(items), thread_count()
    first = list(islice(source, 2))
    with one_blas_thread():
        if n_threads == 1 or len(first) < 2:
            return [do(item) for item in chain(first, source)]
        with ThreadPoolExecutor(n_threads) as pool:
            going = []
            for item in chain(first, source):
                going.append(pool.submit(copy_context().run, alone, item))
                if len(going) > n_threads:  # `items` may move a progress bar: not ahead of the work
                    going[-1 - n_threads].result()
            return [each.result() for each in going]


@cache
def _helpers(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process on which results are computed beside other work.

    They are kept, because the caller would wait until a new one has started.
    """
    return ThreadPoolExecutor(MOST_THREADS, "beside", _never_preempt)


def _never_preempt() -> None:
    """Make Linux wake this thread on another core, or later: not instead of a thread that runs.

    Otherwise a lesson waits for some milliseconds while what it started takes its core.
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class Beside(Generic[Result]):
    """A result that is computed on another thread while its owner goes on.

    It is computed again when asked for if that failed, and in a forked process, which does not have
    the thread. Pickles contain None instead.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._process = os.getpid()
        self._found = _helpers(self._process).submit(work)

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`result` has nothing to wait for."""
        return self._process == os.getpid() and self._found.done()

    def result(self) -> Result:
        """Return the result; waits if necessary."""
        if self._process != os.getpid() or self._found.exception() is not None:
            return self._work()
        return self._found.result()

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the thread out of pickles."""
        return type(None), ()


class ThreadLimit:
    """How many threads the libraries of one kind use, for as long as somebody limits them.

    Threads of OpenBLAS wait for each other, and for about 25 ms after each call, in a busy loop. On
    a machine with other work they take the cores from the thread that they wait for: a Cholesky
    factor of 1,200 rows then takes 1.1 s instead of 0.02 s. So everything except one long
    computation (:func:`library_threads`) uses one thread of BLAS.

    The limit belongs to the process. The one that was entered last counts, and the last one that is
    left restores what was there before the first, in whatever order threads enter and leave.
    """

    def __init__(self, user_api: str) -> None:
        self._user_api = user_api
        self._lock = ForkLock()
        self._entered: list[int] = []
        self._before: threadpool_limits | None = None

    def enter(self, n_threads: int) -> None:
        """Limit the libraries to this number of threads."""
        with self._lock:
            if self._before is None:
                self._take_control()
                self._before = self._libraries().limit(limits=n_threads)
            elif self._entered[-1] != n_threads:
                self._set(n_threads)
            self._entered.append(n_threads)

    def leave(self, n_threads: int) -> None:
        """End the limit that was entered with this number."""
        with self._lock:
            counted = self._entered[-1]
            del self._entered[len(self._entered) - 1 - self._entered[::-1].index(n_threads)]
            if not self._entered and self._before is not None:
                self._take_control()
                self._before.restore_original_limits()
                self._before = None
            elif self._entered and self._entered[-1] != counted:
                self._set(self._entered[-1])

    def _set(self, n_threads: int) -> None:
        self._take_control()
        for library in self._libraries().lib_controllers:
            library.set_num_threads(n_threads)

    def _take_control(self) -> None:
        """Let this thread set limits; since threadpoolctl 3.8 those of other threads do nothing."""
        for library in self._libraries().lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)

    def _libraries(self) -> ThreadpoolController:
        return _libraries(self._user_api)


class OneThread:
    """A context in which every computation of these libraries runs on the calling thread."""

    def __init__(self, *limits: ThreadLimit) -> None:
        self._limits = limits

    def __enter__(self) -> None:
        """Limit each kind of library."""
        for limit in self._limits:
            limit.enter(1)

    def __exit__(self, *error: object) -> None:
        """End the limits."""
        for limit in self._limits:
            limit.leave(1)


def one_blas_thread() -> OneThread:
    """Return the context in which BLAS computes each matrix product on the calling thread."""
    return _one_blas_thread


def one_library_thread() -> OneThread:
    """Return the context in which neither BLAS nor OpenMP uses other threads."""
    return _one_library_thread


@contextmanager
def library_threads() -> Iterator[None]:
    """Let BLAS and OpenMP use the number of threads of the surrounding call.

    Only for computations of seconds, see :class:`ThreadLimit`.
    """
    n_threads = thread_count()
    for limit in (_blas, _openmp):
        limit.enter(n_threads)
    try:
        yield
    finally:
        for limit in (_blas, _openmp):
            limit.leave(n_threads)


def on_one_blas_thread(method: Call) -> Call:
    """Decorate a method so that its rounding does not depend on the number of BLAS threads."""

    @wraps(method)
    def alone(*given: object, **named: object) -> object:
        with one_blas_thread():
            return method(*given, **named)

    return cast("Call", alone)


def _available() -> int:
    """Count the cores of this process, within the limit set for OpenMP."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    libraries = _libraries("openmp").lib_controllers
    limits: list[int] = [library.num_threads for library in libraries]
    return min([cores, *(limit for limit in limits if limit)])


def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of one kind; scikit-learn loads an OpenMP of its own."""
    return _loaded(user_api, "sklearn.utils._openmp_helpers" in sys.modules)


@cache
def _loaded(user_api: str, _with_sklearn: bool) -> ThreadpoolController:
    """Find the libraries that are loaded at the first call: that takes milliseconds."""
    return ThreadpoolController().select(user_api=user_api)


_locks: WeakSet["ForkLock"] = WeakSet()


class ForkLock:
    """A reentrant lock that is recreated in a forked child.

    A child has only the thread that forked. A plain lock that another thread held at that moment
    stays locked there for ever. The protected data must therefore be consistent at every moment,
    for example because a new version is built separately and then put in place by one assignment.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        """Release the lock."""
        self._lock.release()


def _renew_all() -> None:
    for lock in tuple(_locks):
        lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


_blas, _openmp = ThreadLimit("blas"), ThreadLimit("openmp")
_one_blas_thread = OneThread(_blas)
_one_library_thread = OneThread(_blas, _openmp)
