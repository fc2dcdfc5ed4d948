"""The report of a comparison, section by section; ``report.comparison_report`` puts them together.

Comes in: results of one experiment. Goes out: blocks of :mod:`vicinal.report`. One file a section.
"""
