"""A blend whose views are in a folder answers like one in memory, bit for bit."""

import copy as copy_module
import hashlib
import json
import mmap
import os
import shutil
import signal
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal import Blend
from vicinal._core import arrays, csr
from vicinal.datasets.generated import zipf_rows
from vicinal.errors import ModelFormatError
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, TrainingRows, segment_files
from vicinal.index.inverted import Segment
from vicinal.methods.blend import parts, scoring, view_folder

pytestmark = pytest.mark.native

LEAST = 2**20


def random_data(seed, n_labels):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 60)), int(rng.integers(2, 25))
    X = np.where(rng.random((n, m)) < 0.25, rng.integers(1, 4, (n, m)), 0).astype(float)
    if rng.random() < 0.5:
        X *= rng.random((n, m)).round(2) + 0.1
    X[rng.integers(0, n)] = 0
    X[0] = X[1]
    Y = (rng.random((n, n_labels)) < rng.choice([0.05, 0.3])).astype(np.int32)
    Y[rng.integers(0, n)] = 0
    Q = np.where(rng.random((9, m)) < 0.3, rng.integers(1, 4, (9, m)), 0).astype(float)
    kind = rng.choice(["float32", "float64"])
    return sparse.csr_array(X.astype(kind)), sparse.csr_array(Y), sparse.csr_array(Q)


def on_disk(X, Y, folder, **params):
    chunks = [X[: len(X.indptr) // 2], X[len(X.indptr) // 2 :]]
    index = SegmentedIndex.build([c for c in chunks if c.shape[0]], folder / "rows")
    algorithm = SegmentedAlgorithm(LEAST, index, str(folder / "views"))
    return Blend(algorithm=algorithm, **params).fit(index.X, Y)


def same(a, b, Q):
    first, second = a.scores(Q), b.scores(Q)
    np.testing.assert_array_equal(first.base, second.base)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(first.values, name), getattr(second.values, name))
    np.testing.assert_array_equal(a.predict(Q).toarray(), b.predict(Q).toarray())


@given(seed=st.integers(0, 100_000), n_labels=st.sampled_from([1, 3, 40]))
@settings(max_examples=25, deadline=None)
def test_answers_are_those_of_the_model_in_memory(seed, n_labels, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blend")
    X, Y, Q = random_data(seed, n_labels)
    plain = Blend(random_state=3).fit(X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_files, "FEWEST_ENTRIES", 1)
        patch.setattr(arrays, "ENTRIES_AT_ONCE", 16)  # several blocks of rows
        stored = on_disk(X, Y, folder, random_state=3)
    same(plain, stored, Q)
    stored.save(folder / "model")
    same(plain, vicinal.load(folder / "model"), Q)
    # What is learned afterwards is on disk, if the views are: the saved model has it.
    known, is_stored = sparse.csr_array(Y[:3]), has_words(stored)
    same(plain.partial_fit(Q[:3], known), stored.partial_fit(Q[:3], known), Q)
    if is_stored:
        same(plain, vicinal.load(folder / "model"), Q)
    stored.save(folder / "learned")
    same(plain, vicinal.load(folder / "learned"), Q)


@given(
    seed=st.integers(0, 100_000),
    n_labels=st.sampled_from([3, 40]),
    most=st.sampled_from([9, 10**9]),
)
@settings(max_examples=25, deadline=None)
def test_answers_of_views_beyond_memory_are_the_same(seed, n_labels, most, tmp_path_factory):
    """Many rows at a time, of which the last are dropped where there are cells enough."""
    folder = tmp_path_factory.mktemp("blend")
    X, Y, Q = random_data(seed, n_labels)
    with pytest.MonkeyPatch.context() as patch:
        for module in (scoring, parts):
            patch.setattr(module, "BLOCK_ROWS", 3)
        patch.setattr(scoring, "MOST_CELLS", most)
        patch.setattr(scoring, "MOST_ROWS", 100)
        plain = Blend("mix", random_state=3).fit(X, Y)
        patch.setattr(view_folder, "machine_memory", lambda: 0)
        patch.setattr(segment_files, "FEWEST_ENTRIES", 1)
        patch.setattr(parts, "MANY_ASKED", 2)
        patch.setattr(scoring, "ROW_MEMORY", LEAST // 13)
        patch.setattr(scoring, "SCORED_ROWS", 4)
        stored = on_disk(X, Y, folder, combine="mix", random_state=3)
        assert stored.scoring_.rows_at_once == (9 if has_words(stored) else 4)
        same(plain, stored, Q)
    state = [model.scoring_.mixture.get_state() for model in (plain, stored)]
    assert repr(state[0]) == repr(state[1])


def test_views_beyond_memory_are_read_few_times(tmp_path, monkeypatch):
    """Once for a block that tells how many rows are needed, and once for all of these."""
    monkeypatch.setattr(view_folder, "machine_memory", lambda: 0)
    for module in (scoring, parts):
        monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    monkeypatch.setattr(scoring, "ROW_MEMORY", LEAST // 1000)
    rows, labels = zipf_rows(2000, 2000, 1, 20.0), zipf_rows(2000, 50, 2, 2.0).astype(np.int32)
    monkeypatch.setattr(scoring, "MOST_ROWS", 800)
    for most_cells, passes in ((10_000, 2), (10**9, 2)):
        monkeypatch.setattr(scoring, "MOST_CELLS", most_cells)
        asked = []
        nearest = parts.View.nearest_others

        def recorded(view, places, asked=asked, nearest=nearest):
            asked.append(len(places))
            return nearest(view, places)

        with monkeypatch.context() as patch:
            patch.setattr(parts.View, "nearest_others", recorded)
            model = on_disk(rows, labels, tmp_path / str(most_cells), combine="mix")
        n_views = len(model.scoring_.views)
        n_used = len(model.scoring_.held_out.rows)
        assert len(asked) == passes * n_views
        assert sum(asked) <= n_views * (1.02 * n_used + 2 * 16)


def has_words(model):
    """A few rows may be so dense that they are measurements."""
    return any(view.look.is_words for view in model.scoring_.views)


def changed(model, step, rng):
    """Learn, forget or fit again: the same for every model that has made the same steps."""
    n_features = model.n_features_in_
    kinds = ["row", "row", "row", "rows", "rows", "names", "forget", "forget", "recalibrate"]
    kind = rng.choice(kinds)
    count = 1 if kind == "row" else int(rng.integers(2, 5))
    if kind == "recalibrate":
        return model.recalibrate()
    if kind == "forget":
        left = model.row_ids_
        return model.forget(rng.choice(left, min(count, len(left) - 2), replace=False))
    X = np.where(rng.random((count, n_features)) < 0.3, rng.integers(1, 4, (count, n_features)), 0)
    if kind == "names":
        labels = [["new", f"newer {step}"]] * count
        return model.partial_fit(sparse.csr_array(X / 3), labels, row_names=[f"r{step}"] * count)
    Y = (rng.random((count, len(model.label_names_))) < 0.2).astype(np.int32)
    return model.partial_fit(sparse.csr_array(X.astype(np.float64)), sparse.csr_array(Y))


@given(seed=st.integers(0, 100_000), at=st.sampled_from([0.1, "never"]))
@example(seed=35, at="never")  # measurements, whose views are in memory
@settings(max_examples=20, deadline=None)
def test_changes_are_those_of_the_model_in_memory(seed, at, tmp_path_factory):
    """Random changes, after each of which the saved model may be loaded instead."""
    folder = tmp_path_factory.mktemp("blend")
    X, Y, Q = random_data(seed, 40)
    rng = np.random.default_rng(seed)
    plain = Blend(random_state=3, recalibrate_at=at).fit(X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_files, "FEWEST_ENTRIES", 1)
        patch.setattr(csr, "MAPPED_ROOM_FROM", 1)
        stored = on_disk(X, Y, folder, random_state=3, recalibrate_at=at)
        is_logged = has_words(stored)
        stored.save(folder / "model")
        for step in range(12):
            draws = int(rng.integers(0, 2**31))
            for model in (plain, stored):
                changed(model, step, np.random.default_rng(draws))
            same(plain, stored, Q)
            if rng.random() < 0.3:
                stored.save(folder / "model")
            if rng.random() < 0.3:
                if not is_logged:
                    stored.save(folder / "model")
                stored = vicinal.load(folder / "model")
                same(plain, stored, Q)
                assert stored.row_ids_.tolist() == plain.row_ids_.tolist()
                assert stored.row_names_ == plain.row_names_
                assert stored.label_names_ == plain.label_names_
                assert stored.calibration_ == plain.calibration_


def test_the_saved_model_refers_to_its_rows(tmp_path):
    X, Y, _ = random_data(12, 40)
    on_disk(X, Y, tmp_path).save(tmp_path / "model")
    rows = tmp_path / "rows"
    state = vicinal.load(tmp_path / "model").get_state()
    assert state["X"] is None
    assert state["rows in"][0] == str(rows)
    rows.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelFormatError, match="rows: expected a segmented index"):
        vicinal.load(tmp_path / "model")


def test_a_copy_changes_in_memory(tmp_path):
    X, Y, Q = random_data(6, 40)
    stored = on_disk(X, Y, tmp_path)
    stored.save(tmp_path / "model")
    copy = stored.snapshot().partial_fit(Q[:2], sparse.csr_array(Y[:2]))
    copy.save(tmp_path / "copy")
    same(copy, vicinal.load(tmp_path / "copy"), Q)
    same(stored, vicinal.load(tmp_path / "model"), Q)
    same(stored, copy_module.deepcopy(stored), Q)


def test_of_two_models_the_second_to_change_is_refused(tmp_path):
    X, Y, Q = random_data(7, 40)
    on_disk(X, Y, tmp_path).save(tmp_path / "model")
    first, second = vicinal.load(tmp_path / "model"), vicinal.load(tmp_path / "model")
    first.partial_fit(Q[:1], sparse.csr_array(Y[:1]))
    before = second.scores(Q).values.data
    with pytest.raises(ValueError, match="load it again"):
        second.partial_fit(Q[:1], sparse.csr_array(Y[:1]))
    np.testing.assert_array_equal(second.scores(Q).values.data, before)
    same(first, vicinal.load(tmp_path / "model"), Q)


def test_a_damaged_log_is_refused(tmp_path):
    X, Y, Q = random_data(8, 40)
    stored = on_disk(X, Y, tmp_path)
    stored.save(tmp_path / "model")
    for row in range(3):
        stored.partial_fit(Q[row : row + 1], sparse.csr_array(Y[:1]))
    log = next(file for file in (tmp_path / "views").iterdir() if view_folder.is_log(file.name))
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b"learned", b"lea4ned", 1))
    with pytest.raises(ModelFormatError, match="checksum"):
        vicinal.load(tmp_path / "model")
    # The end of a line that did not reach the disk is no change.
    before = Blend().fit(X, Y).partial_fit(Q[:1], sparse.csr_array(Y[:1]))
    before.partial_fit(Q[1:2], sparse.csr_array(Y[:1]))
    for torn in (whole[:-1], whole[:-40], whole[:-3] + b"0" + whole[-2:]):
        log.write_bytes(torn)
        model = vicinal.load(tmp_path / "model")
        same(before, model, Q)
        model.forget([0])
        same(model, vicinal.load(tmp_path / "model"), Q)


def test_a_failed_write_changes_nothing(tmp_path, monkeypatch):
    X, Y, Q = random_data(9, 40)
    stored = on_disk(X, Y, tmp_path)
    stored.save(tmp_path / "model")
    stored.partial_fit(Q[:1], sparse.csr_array(Y[:1]))

    def fails(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(view_folder.os, "fsync", fails)
        with pytest.raises(OSError, match="No space"):
            stored.partial_fit(Q[1:2], sparse.csr_array(Y[1:2]))
    stored.forget([0])
    same(Blend().fit(X, Y).partial_fit(Q[:1], sparse.csr_array(Y[:1])).forget([0]), stored, Q)
    same(stored, vicinal.load(tmp_path / "model"), Q)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_every_step_of_a_change(tmp_path):
    """The saved model is the one before the change or the one after it."""
    X, Y, Q = random_data(10, 40)
    on_disk(X, Y, tmp_path, n_jobs=1).save(tmp_path / "model")
    known = sparse.csr_array(Y[:1])
    states = [Blend().fit(X, Y), Blend().fit(X, Y).partial_fit(Q[:1], known)]
    wanted = [state.scores(Q).values.toarray() for state in states]
    seen = set()
    for n in range(1, 9):
        shutil.copytree(tmp_path / "views", tmp_path / "kept")
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                model = vicinal.load(tmp_path / "model")
                kill_at(n)
                model.partial_fit(Q[:1], known)
            os._exit(0)
        os.waitpid(child, 0)
        found = vicinal.load(tmp_path / "model").scores(Q).values.toarray()
        seen.add([np.array_equal(found, each) for each in wanted].index(True))
        shutil.rmtree(tmp_path / "views")
        (tmp_path / "kept").rename(tmp_path / "views")
    assert seen == {0, 1}


def kill_at(n):
    """End this process at the n-th call to the system that changes files."""
    left = n

    def counted(call):
        def step(*args, **options):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return step

    os.open, os.fsync = counted(os.open), counted(os.fsync)
    Path.open = counted(Path.open)


def test_learning_copies_no_rows_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    monkeypatch.setattr(csr, "MAPPED_ROOM_FROM", 1)
    X, Y, Q = random_data(1, 40)
    X = sparse.vstack([X] * 300, format="csr")
    Y = sparse.vstack([Y] * 300, format="csr")
    stored = on_disk(X, Y, tmp_path, recalibrate_at="never")
    mapped = [view.rows.X for view in stored.scoring_.views] + [stored.search_.X]
    stored.partial_fit(Q[:3], sparse.csr_array(Y[:3])).forget([1, 2])
    now = [view.rows.X for view in stored.scoring_.views] + [stored.search_.X]
    for before, after in zip(mapped, now, strict=True):
        page = mmap.PAGESIZE // after.data.itemsize
        address = after.data.ctypes.data
        pages = next(line for line in maps() if line[0] <= address < line[1])
        assert pages[1] - address >= before.data.nbytes - mmap.PAGESIZE
        assert "values" in pages[2]
        assert after.data[: len(before.data)].tolist() == before.data.tolist()
        assert len(after.data) > len(before.data) > page


def test_a_loaded_model_with_learned_rows_searches_the_index_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    X, Y, Q = random_data(4, 3)
    model = on_disk(X, Y, tmp_path)
    model.save(tmp_path / "model")
    model.partial_fit(Q[:2], sparse.csr_array(Y[:2])).forget([1])
    loaded = vicinal.load(tmp_path / "model")
    same(model, loaded, Q)
    for view in loaded.scoring_.views:
        stored, *added = view.rows.index._version.segments
        assert stored.postings
        assert len(stored) == X.shape[0]
        assert sum(map(len, added)) == 2


@pytest.mark.parametrize(("count", "fits"), [(100, True), (3000, False)])
def test_learned_rows_stay_indexed_while_that_fits(count, fits, tmp_path, monkeypatch):
    """In half of the limit of 1 MiB; with more rows, each search builds what does not fit."""
    rows, labels = zipf_rows(count, 2000, 1, 20.0), zipf_rows(count, 50, 2, 2.0).astype(np.int32)
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    model = on_disk(rows[:100], labels[:100], tmp_path, recalibrate_at="never")
    model.partial_fit(rows, labels).rank(rows[:1], 3)
    build, built = Segment.of.__func__, []

    def recorded(cls, some, *arguments):
        built.append(some.shape[0])
        return build(cls, some, *arguments)

    monkeypatch.setattr(Segment, "of", classmethod(recorded))
    model.rank(rows[1:2], 3)
    assert bool(built) != fits


def test_reading_after_forgetting_copies_no_rows(tmp_path, monkeypatch):
    X, Y, Q = random_data(1, 40)
    on_disk(X, Y, tmp_path).save(tmp_path / "model")
    vicinal.load(tmp_path / "model").forget([1, 2])
    build, are_own = TrainingRows.build_index, []

    def recorded(rows, searched):
        are_own.append(searched is rows.X)
        return build(rows, searched)

    monkeypatch.setattr(TrainingRows, "build_index", recorded)
    stored = vicinal.load(tmp_path / "model")
    same(Blend().fit(X, Y).forget([1, 2]), stored, Q)
    assert stored.search_.n_empty == 2
    assert are_own
    assert all(are_own)


def test_explaining_after_forgetting_copies_no_rows(tmp_path, monkeypatch):
    X, Y, Q = random_data(1, 40)
    names = [f"row {i}" for i in range(X.shape[0])]
    index = SegmentedIndex.build([X], tmp_path / "rows")
    algorithm = SegmentedAlgorithm(LEAST, index, str(tmp_path / "views"))
    stored = Blend(algorithm=algorithm, recalibrate_at="never").fit(index.X, Y, row_names=names)
    plain = Blend(recalibrate_at="never").fit(X, Y, row_names=names)
    for model in (plain, stored):
        model.partial_fit(Q[:2], sparse.csr_array(Y[:2]), row_names=["new", "newer"])
        model.forget([1, 2, X.shape[0]])
    expected = plain.explain(Q, what_if=True)
    monkeypatch.delattr(TrainingRows, "reduced")
    assert stored.search_.n_empty == 3
    assert stored.explain(Q, what_if=True) == expected
    assert vicinal.explain(stored, Q, what_if=True) == expected


def maps():
    """Return where files are mapped: the first and the last address, and the file."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(each, 16) for each in line.split()[0].split("-"))
        found.append((first, last, line.split(maxsplit=5)[-1]))
    return found


def test_views_are_mapped_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    X, Y, _ = random_data(1, 40)
    for view in on_disk(X, Y, tmp_path).scoring_.views:
        for part in (view.rows.X.data, view.rows.X.indices):
            while isinstance(part.base, np.ndarray):
                part = part.base
            assert isinstance(part, np.memmap)
        assert view.rows.index.nbytes < 64 * X.shape[0]


def read_singly(folder):
    """Return the names of a folder's files of which only pages that are asked for are read."""
    found, file = set(), Path()
    for line in Path("/proc/self/smaps").read_text().splitlines():
        parts = line.split(maxsplit=5)
        if "-" in parts[0]:
            file = Path(parts[-1])
        elif parts[0] == "VmFlags:" and "rr" in line.split() and folder in file.parents:
            found.add(file.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/smaps")
@pytest.mark.parametrize("memory", [0, 2**60])
def test_pages_of_views_beyond_memory_are_read_one_by_one(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(view_folder, "machine_memory", lambda: memory)
    X, Y, Q = random_data(1, 40)
    stored = on_disk(X, Y, tmp_path)
    expected = {*view_folder.ARRAYS, "indices", "values"}
    assert read_singly(tmp_path) == (set() if memory else expected)
    same(Blend().fit(X, Y), stored, Q)


def test_the_centroids_are_written_some_features_at_a_time(tmp_path):
    X, Y, _ = random_data(2, 40)
    sizes = []
    for number, memory in enumerate((1, 10**9)):
        folder = tmp_path / str(number)
        folder.mkdir()
        sizes.append(view_folder.write_centroids(folder, X, Y, memory))
    assert sizes[0] == sizes[1]
    for name in view_folder.ARRAYS:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def damaged_view(folder):
    X, Y, _ = random_data(4, 40)
    on_disk(X, Y, folder).save(folder / "model")
    return next((folder / "views").iterdir())


@pytest.mark.parametrize("name", list(view_folder.ARRAYS))
def test_a_damaged_file_is_refused(tmp_path, name):
    file = damaged_view(tmp_path) / name
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ModelFormatError, match=f"{name}: expected"):
        vicinal.load(tmp_path / "model")


def test_lists_that_cannot_be_read_are_refused(tmp_path):
    file = damaged_view(tmp_path) / "labels"
    labels = np.fromfile(file, dtype=np.int32)
    labels[-1] = 40
    labels.tofile(file)
    with pytest.raises(ModelFormatError, match="damaged"):
        vicinal.load(tmp_path / "model")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "vicinal view 1"}', '{"sizes": 3}'])
def test_a_damaged_description_is_refused(tmp_path, text):
    (damaged_view(tmp_path) / "view.json").write_text(text)
    with pytest.raises(ModelFormatError, match=r"view\.json"):
        vicinal.load(tmp_path / "model")


def test_an_interrupted_write_is_done_again(tmp_path, monkeypatch):
    X, Y, Q = random_data(5, 40)

    def fails(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(view_folder, "write_centroids", fails)
        with pytest.raises(KeyboardInterrupt):
            on_disk(X, Y, tmp_path)
    same(Blend().fit(X, Y), on_disk(X, Y, tmp_path), Q)


def test_a_long_log_is_read_line_by_line(tmp_path):
    """Reading the first of many changes takes little memory, and few are learned together."""
    rows = {"X": [[0, 2], [1, 2], [1.0, 2.0]], "Y": [[0, 1], [0], [1]]}
    change = {"learned": 1, **rows, "label names": ["x" * 20_000], "row names": None}
    text = json.dumps(change).encode()
    line = b"%s %s\n" % (hashlib.sha256(text).hexdigest().encode(), text)
    (tmp_path / "log").write_bytes(line * 500)
    log = view_folder.ChangeLog(tmp_path / "log", None)
    tracemalloc.start()
    assert next(log.changes()) == change
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(line)
    assert log.size == len(line)


def test_changes_learned_together_have_limited_entries(monkeypatch):
    rows = {"X": [[0, 2], [1, 2], [1.0, 2.0]], "Y": [[0, 1], [0], [1]]}
    change = {"learned": 1, **rows, "label names": [], "row names": None}
    monkeypatch.setattr(view_folder, "JOINED_ENTRIES", 7, raising=False)
    changes = (copy_module.deepcopy(change) for _ in range(8))
    assert [each["learned"] for each in view_folder.joined_changes(changes)] == [3, 3, 2]
