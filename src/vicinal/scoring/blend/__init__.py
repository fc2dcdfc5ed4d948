r"""The blend: neighbours, linear models and label statistics, mixed on leave-one-out scores.

Input: the training rows, their graph and labels. Output: a :class:`BlendScoring`, which turns rows
into calibrated probabilities of their most likely labels:

.. math:: p(x, l) = \sigma\Bigl(\frac{1}{F} \sum_{f=1}^{F} T_f(c(x, l))\Bigr)

where the cell :math:`c(x, l)` holds the scores of label :math:`l` for row :math:`x` by every part,
the trees :math:`T_f` were fitted on the cells of all training rows but those of fold :math:`f`, and
:math:`\sigma` is the logistic function. How data flows::

    rows ─▶ views: as given, weighted by labels, scaled
         ─▶ parts: votes, ridge, … of each view
         ─▶ cells: candidate labels, and their scores by each part
         ─▶ mixture ─▶ probabilities

``plan`` decides which parts a data set can afford; everything is learned on leave-one-out scores.
"""

from vicinal.scoring.blend.scoring import BlendScoring
from vicinal.scoring.blend.settings import BlendSettings

__all__ = ["BlendScoring", "BlendSettings"]
