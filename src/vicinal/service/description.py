"""What a served model tells about itself: facts, labels, examples, what was taught."""

from typing import Any

from vicinal.service import model_access
from vicinal.service.about import About
from vicinal.service.access import Access
from vicinal.service.events import Event
from vicinal.service.learner import Learner
from vicinal.service.served_model import ServedModel

SHOWN_CHARACTERS = 300
"""How much of a taught text the list of changes shows."""
SHOWN_EXAMPLES = 6
"""Training rows offered as examples where none were given."""


class Description:
    """Describes one served model; every method reads one whole version.

    Parameters
    ----------
    model_id : str
    served : ServedModel
    learner : Learner or None
        None for a model that cannot be taught.
    access : Access
    about : About
    """

    def __init__(
        self,
        model_id: str,
        served: ServedModel,
        learner: Learner | None,
        access: Access,
        about: About,
    ) -> None:
        self._id = model_id
        self._served = served
        self._learner = learner
        self._access = access
        self._about = about

    def facts(self) -> dict[str, Any]:
        """Return method, numbers of rows and labels, version, and what the model can do."""
        metrics = self._about.metrics
        with self._served.reading() as (estimator, number):
            return {
                "id": self._id,
                "method": type(estimator).__name__,
                "rows": len(model_access.row_ids(estimator)),
                "labels": len(estimator.label_names_),
                "features": self._served.reader.n_features,
                "version": number,
                "reads_text": self._served.reader.reads_text,
                "can_learn": self._learner is not None and model_access.can_learn(estimator),
                "writes": self._access.writes,
                "metrics": None if metrics is None else dict(metrics),
            }

    def labels(self) -> tuple[dict[str, int], int]:
        """Return each label with the number of its rows, and the version."""
        with self._served.reading() as (estimator, number):
            return model_access.label_counts(estimator), number

    def examples(self) -> list[dict[str, str]]:
        """Return texts to try: those given, or words of training rows."""
        if not self._served.reader.reads_text:
            return []
        if self._about.examples:
            return [{"title": title, "text": text} for title, text in self._about.examples]
        with self._served.reading() as (estimator, _):
            names = self._served.reader.names
            return model_access.example_words(estimator, names, SHOWN_EXAMPLES)

    def taught(self, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the newest changes, newest first, and the version."""
        version = self._served.version
        if self._learner is None:
            return [], version
        events = self._learner.store.latest(self._id, count)
        return [_shown(event, self._learner) for event in events if event.refused is None], version


def _shown(event: Event, learner: Learner) -> dict[str, Any]:
    """Return a change as the page lists it."""
    is_learned = event.change.kind == "learn"
    rows = [
        {"labels": row["labels"], "text": row.get("text", "(features)")[:SHOWN_CHARACTERS]}
        for row in (event.change.rows if is_learned else ())
    ]
    return {
        "version": event.version,
        "kind": event.change.kind,
        "row_ids": list(event.row_ids),
        "taught_at": event.taught_at,
        "rows": rows,
        "undone": is_learned and not learner.alive(event.row_ids),
    }
