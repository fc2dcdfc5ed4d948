"""Plot of the loss."""

import os

from vicinal._base.arrays import Float


def plot_loss(history: Float, name: str, path: str | os.PathLike[str]) -> None:
    """Plot the loss after each evaluation; the extension (.png, .svg, …) sets the format."""
    # Importing matplotlib takes long, and a fit does not need it.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.step(range(len(history)), history, where="post")
    axes.set_xlabel("evaluation")
    axes.set_ylabel(f"{name} on the training rows, leave-one-out")
    figure.savefig(path)
