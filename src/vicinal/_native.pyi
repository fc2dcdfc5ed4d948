"""What the compiled core offers. Each layer calls it through one thin module of its own."""

# -- parsing
from vicinal._base.arrays import Float, Int, Int32
