"""``vicinal plan``: figures that follow from the constants."""

import json

import pytest

from vicinal._base.errors import InvalidArgumentError
from vicinal.index.cost_model import Constants, Machines, Workload, plan


def test_figures_by_hand():
    constants = Constants(2.0, 40.0, 50.0, 20.0, 6.0, 100.0, 286.0)
    found = plan(Workload(1e6, 40.0, neighbors=10), Machines(1, 1, 1.0, 3.6), constants)
    assert found.disk_gb == pytest.approx((40e6 * (8 + 6) + 12e6) / 1e9)
    assert found.postings_gb == pytest.approx(0.24)
    assert found.fits_in_memory
    # 1e6 rows × 2 ns, and 10 neighbours of one shard × 100 ns
    assert found.seconds_per_million_queries == pytest.approx(1e6 * (2e-3 + 1e-6))
    # 40e6 entries × 20 ns, and 572 MB at 286 MB per second
    assert found.seconds_to_write == pytest.approx(0.8 + 2.0)
    assert found.seconds_to_build_postings == pytest.approx(2.0)
    assert found.seconds_for_graph == pytest.approx(2001.0)
    assert found.seconds_for_queries == pytest.approx(2001.0)
    assert found.cost == pytest.approx((2001 + 2001) / 3600 * 3.6)


def test_twice_the_entries_cost_four_times():
    few, many = (plan(Workload(1e8, n), Machines(2), Constants()) for n in (20.0, 40.0))
    ratio = many.seconds_per_million_queries / few.seconds_per_million_queries
    assert ratio == pytest.approx(4, rel=0.05)  # merging does not grow with the entries


def test_too_few_machines_read_postings_for_every_batch():
    work = Workload(1e9, 40.0, queries=3e6)
    enough, few = plan(work, Machines(), Constants()), plan(work, Machines(1), Constants())
    assert enough.fits_in_memory
    assert not few.fits_in_memory
    assert few.seconds_per_million_queries > enough.workers * enough.seconds_per_million_queries
    # 280 GB at 200 MB per second, once for each of three batches of a million queries
    searching = 3 * (few.seconds_per_million_queries - 1400)
    assert few.seconds_for_queries == pytest.approx(searching + 3 * 1400)


def test_all_cores_of_one_machine_build_the_postings():
    work = Workload(1e6, 40.0)
    one, two = (plan(work, Machines(1, cores), Constants()) for cores in (1, 2))
    assert two.seconds_to_build_postings == pytest.approx(one.seconds_to_build_postings / 2)
    assert two.seconds_to_write == one.seconds_to_write


def test_the_command(run, tmp_path):
    code, out, _ = run("plan", "--rows", "1e9", "--nnz", "40", "--labels", "1e6", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["rows"] == 10**9
    assert facts["machines"] == 9
    assert run("plan", "--rows", "1e9")[0] == 0
    file = tmp_path / "constants.json"
    file.write_text(json.dumps({"ns_per_row": 0.52}))
    code, out, _ = run("plan", "--rows", "1e9", "--constants", file, "--json")
    slower = json.loads(out)["seconds per million queries"]
    assert slower == pytest.approx(2 * facts["seconds per million queries"], rel=0.02)


def test_bad_input(run, tmp_path):
    code, _, err = run("plan", "--rows", "1e10")
    assert code == 2
    assert "2^31" in err
    (tmp_path / "c.json").write_text("[]")
    code, _, err = run("plan", "--rows", "10", "--constants", tmp_path / "c.json")
    assert code == 2
    assert "--constants" in err
    with pytest.raises(InvalidArgumentError, match="entries"):
        Workload(10, 0)
