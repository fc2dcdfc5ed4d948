"""The order of the gallery: what the default model does first, then methods, then data."""

PROGRAMS = (
    "explanation",
    "neighborhood",
    "incremental_learning",
    "calibration",
    "decision_rules",
    "threshold_choice",
    "scaling",
    "method_surfaces",
    "critical_difference",
    "one_search",
    "metric_against_k",
    "local_ridge",
    "lcif_mixing",
    "label_cooccurrence",
    "label_weights",
    "mlarp_projection",
)


class DefaultModelFirst:
    """A key by which Sphinx-Gallery sorts file names; programs that are not listed come last."""

    def __init__(self, src_dir: str) -> None:
        self._place = {f"plot_{name}.py": place for place, name in enumerate(PROGRAMS)}

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of a program."""
        return self._place.get(filename, len(self._place)), filename

    def __repr__(self) -> str:
        """Return a text without an address, so that a build does not look changed."""
        return f"<{type(self).__name__}>"
