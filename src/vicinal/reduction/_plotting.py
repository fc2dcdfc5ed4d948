"""A curve of the loss."""

import os

from vicinal._base.arrays import Float


def plot_loss(history: Float, name: str, path: str | os.PathLike[str]) -> None:
    """Draw the loss after each evaluation into a file; its ending (.png, .svg, …) says how."""
    # Drawing takes long to import, and a fit does not need it.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.step(range(len(history)), history, where="post")
    axes.set_xlabel("evaluation")
    axes.set_ylabel(f"{name} on the training rows, leave-one-out")
    figure.savefig(path)
