"""What the compiled core offers. Each layer calls it through one thin module of its own."""

# -- parsing
