"""The sections of a comparison report, which ``report.comparison_report`` assembles.

Input: results of one experiment. Output: blocks of :mod:`vicinal.report`. One file per section.
"""
