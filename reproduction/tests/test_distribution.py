"""The distribution as pip and the ``vicinal`` command see it."""

from importlib.metadata import entry_points, requires, version

from vicinal_reproduction.command import reproduce
from vicinal_reproduction.figures.reported import reported, reported_cells


def test_it_requires_the_library_of_its_own_version():
    assert version("vicinal-reproduction") == version("vicinal")
    assert requires("vicinal-reproduction") == [f"vicinal=={version('vicinal')}"]


def test_the_library_finds_the_command_and_the_figures():
    (command,) = entry_points(group="vicinal.commands", name="reproduce")
    assert command.load() is reproduce
    (figures,) = entry_points(group="vicinal.reported_figures", name="papers")
    assert figures.load() is reported_cells


def test_a_report_gets_every_reported_cell():
    cells = reported_cells()
    assert [(each.paper, each.table, each.dataset, each.method) for each in cells] == [
        (each.paper, each.table, each.data, each.method) for each in reported()
    ]
    assert [(each.metric, each.value, each.std) for each in cells] == [
        (each.metric, each.value, each.std) for each in reported()
    ]
