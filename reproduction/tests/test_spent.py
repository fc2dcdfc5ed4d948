"""How long a full run takes, counted by hand."""

from vicinal.results import Result
from vicinal_reproduction.render.spent import Seconds, spent
from vicinal_reproduction.specification import Experiment, Method, Paper, Table


def experiment(name, methods=("own",), data=("here",), seeds=(1,)):
    made = {method: Method(lambda seed: None) for method in methods}
    return Experiment(f"p/{name}", "", data, made, None, seeds=seeds)


def paper(*experiments, shown=("p/main",)):
    table = Table("1", "", (), (), (), shown)
    return Paper("p", "", experiments, (table,), rivals=("rival",))


def result(name, method="own", seed=1, data="here", values=None, **seconds):
    return Result(f"p/{name}", data, method, values or {}, seed=seed, seconds=seconds)


def test_processor_seconds_add_up_over_the_results_of_a_unit():
    results = [result("main", search=9.0, processor=9.5), result("main", "b", processor=0.5)]
    found = spent(paper(experiment("main", ("own", "b"))), results, ["here"])
    assert found.tables == found.total == Seconds(10.0)


def test_a_search_that_methods_share_is_counted_once_and_steps_each():
    results = [result("main", search=9.0, fit=1.0), result("main", "b", search=9.0, fit=2.0)]
    found = spent(paper(experiment("main", ("own", "b"))), results, ["here"])
    assert found.tables == Seconds(12.0, by_clock=12.0)


def test_a_result_of_the_same_run_counts_for_nothing_more():
    results = [result("main", fit=1.0), result("main-best", fit=1.0)]
    assert spent(paper(experiment("main")), results, ["here"]).total.all == 1.0


def test_times_that_are_the_figure_count_where_nothing_else_is_known():
    results = [result("main", values={"seconds": (4.0,)})]
    assert spent(paper(experiment("main")), results, ["here"]).total.all == 4.0


def test_missing_seeds_are_estimated_from_the_others():
    results = [result("main", seed=1, processor=2.0), result("main", seed=2, processor=4.0)]
    found = spent(paper(experiment("main", seeds=(1, 2, 3))), results, ["here"])
    assert found.tables == Seconds(9.0, guessed=3.0)


def test_what_it_is_for():
    experiments = (experiment("main"), experiment("rivals", ("rival",)), experiment("aside"))
    results = [
        result("main", processor=1.0),
        result("rivals", "rival", processor=2.0),
        result("aside", processor=4.0),
    ]
    found = spent(paper(*experiments, shown=("p/main", "p/rivals")), results, ["here"])
    assert (found.tables.all, found.rivals.all, found.aside.all) == (1.0, 2.0, 4.0)
    assert found.total.all == 7.0


def test_missing_experiments_are_named_if_their_data_is_available():
    found = spent(paper(experiment("main", data=("here", "gone"))), [], ["here"])
    assert found.without == (("p/main", "here"),)
    assert found.total == Seconds()
