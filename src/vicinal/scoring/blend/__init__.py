r"""The blend: neighbours, linear models and label statistics, mixed by what leave-one-out says.

Comes in: the training rows, their graph and labels. Goes out: a :class:`BlendScoring`, which turns
rows into calibrated probabilities of their most likely labels:

.. math:: p(x, l) = \sigma\Bigl(\frac{1}{F} \sum_{f=1}^{F} T_f(c(x, l))\Bigr)

where the cell :math:`c(x, l)` holds what every part says of label :math:`l` for row :math:`x`, the
trees :math:`T_f` were fitted on the cells of all training rows but those of fold :math:`f`, and
:math:`\sigma` is the logistic function. The way of the data::

    rows ─▶ views: as given, weighted by labels, scaled
         ─▶ parts: votes, ridge, … of each view
         ─▶ cells: candidate labels, and what each part says
         ─▶ mixture ─▶ probabilities

``plan`` decides which parts a data set can afford; everything is learned on leave-one-out scores.
"""

from vicinal.scoring.blend.scoring import BlendScoring
from vicinal.scoring.blend.settings import BlendSettings

__all__ = ["BlendScoring", "BlendSettings"]
