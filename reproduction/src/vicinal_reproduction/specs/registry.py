"""The papers, by name."""

from vicinal.errors import InvalidArgumentError
from vicinal_reproduction.specification import Experiment, Paper
from vicinal_reproduction.specs import feremans2017, mlarp, spyromitros2008, wang2018, zhang2007

PAPERS: dict[str, Paper] = {
    each.PAPER.name: each.PAPER
    for each in (spyromitros2008, zhang2007, wang2018, feremans2017, mlarp)
}


def chosen_papers(name: str | None) -> list[Paper]:
    """Return the named paper, or all papers."""
    if name is None:
        return list(PAPERS.values())
    if name not in PAPERS:
        raise InvalidArgumentError("PAPER", f"one of {', '.join(PAPERS)}", repr(name))
    return [PAPERS[name]]


def find_experiment(name: str) -> Experiment:
    """Return an experiment of a paper by name."""
    for paper in PAPERS.values():
        for experiment in paper.experiments:
            if experiment.name == name:
                return experiment
    raise InvalidArgumentError("experiment", "the name of an experiment", repr(name))
