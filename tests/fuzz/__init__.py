"""Random damage against everything that reads: ``make fuzz``.

An input is made from the name of its target and a number, so that ``--only models:4711`` makes it
again. Inputs that once failed are kept by those two in ``seeds.txt`` and tried first.
"""
