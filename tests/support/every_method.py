"""The methods that the invariants hold for: those of the library, and one defined outside it."""

from weighted_mlknn import WeightedMLkNN

from vicinal.estimators import METHODS

EVERY_METHOD = {**METHODS, WeightedMLkNN.method.name: WeightedMLkNN}
