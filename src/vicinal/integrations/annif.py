"""The backend ``vicinal`` for Annif: a text backend that learns incrementally.

Annif has no entry points for backends, but it imports the configuration class that ``ANNIF_CONFIG``
names. Importing the class below registers the backend::

    ANNIF_CONFIG=vicinal.integrations.annif.Config annif train my-project corpus.tsv

with a project such as::

    [my-project]
    name=Subjects by neighbours
    language=en
    backend=vicinal
    vocab=my-vocab
    analyzer=simplemma(en)
    allow_learn=1

Words are those of the project's analyzer. ``simple`` and ``simplemma`` are done by vicinal itself,
so that a model can be served without Annif; for other analyzers Annif splits the texts. Written for
Annif 1.4, whose Python interface is internal; ``make annif-test`` checks that it still fits.
"""

import re
from pathlib import Path
from typing import Any, ClassVar

import annif.backend
import annif.default_config
import numpy as np
from annif.backend.backend import AnnifLearningBackend
from annif.corpus.document import Document, DocumentCorpus
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
)
from annif.suggestion import SuggestionBatch
from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal.errors import ModelFormatError
from vicinal.methods import Blend, InstanceKNN, load, save
from vicinal.preprocess import TextVectorizer

MODEL = "vicinal-model"


class VicinalBackend(AnnifLearningBackend):
    """Subjects of documents by a method of vicinal.

    Parameters of a project: `method` (``blend``, or ``instance-knn``: the subjects of the most
    similar training documents by cosine of tf-idf vectors), `neighbors` (of ``instance-knn``),
    `min_df` (documents a word must be in), `limit`. The labels of the model are the URIs of the
    subjects, so that ``vicinal serve`` can serve it: ``data/projects/PROJECT/vicinal-model``.
    """

    name = "vicinal"
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]] = {
        "limit": 100,
        "method": "blend",
        "neighbors": 15,
        "min_df": 1,
    }
    _model: Pipeline | None = None

    def initialize(self, parallel: bool = False) -> None:
        """Load the model, unless it is loaded."""
        if self._model is None:
            try:
                loaded = load(Path(self.datadir) / MODEL)
            except (ModelFormatError, OSError) as error:
                raise NotInitializedException(str(error), backend_id=self.backend_id) from error
            self._model = loaded if isinstance(loaded, Pipeline) else None

    def _train(self, corpus: DocumentCorpus, params: dict[str, Any], jobs: int = 0) -> None:
        """Learn a corpus from scratch."""
        if isinstance(corpus, str):
            raise NotSupportedException("vicinal cannot train from cached data")
        if corpus.is_empty():
            raise NotSupportedException("vicinal cannot train without documents")
        texts, subjects = self._read(corpus)
        is_blend = self._is_blend(params)
        words = TextVectorizer(
            weighting="counts" if is_blend else "tfidf",
            min_df=int(params["min_df"]),
            language=self._language(),
        )
        estimator: Any = Blend(n_jobs=jobs or None)
        if not is_blend:
            estimator = InstanceKNN(int(params["neighbors"]), n_jobs=jobs or None)
        model = Pipeline([("words", words), ("estimator", estimator)])
        uris = [self._uri(subject) for subject in range(len(self.project.subjects))]
        model.fit(texts, subjects, estimator__label_names=uris)
        self._keep(model)

    def _is_blend(self, params: dict[str, Any]) -> bool:
        """Tell whether the project uses the blend rather than neighbours alone."""
        method = str(params["method"])
        if method not in ("blend", "instance-knn"):
            message = f"method: expected blend or instance-knn, got {method!r}"
            raise ConfigurationException(message, backend_id=self.backend_id)
        return method == "blend"

    def _language(self) -> str | None:
        """Return the language of the analyzer ``simplemma``; None for other analyzers."""
        found = re.fullmatch(r"simplemma\((\w+)\)", str(self.project.analyzer_spec))
        return None if found is None else found[1]

    def _text(self, text: str) -> str:
        """Return a text for the model: as it is, or the words of another analyzer."""
        spec = str(self.project.analyzer_spec)
        if spec == "simple" or self._language() is not None:
            return text
        return " ".join(self.project.analyzer.tokenize_words(text))

    def _learn(self, corpus: DocumentCorpus, params: dict[str, Any]) -> None:
        """Learn further documents: equal to training on all, with the words of the first corpus."""
        self.initialize()
        texts, subjects = self._read(corpus)
        if texts and self._model is not None:
            words, estimator = (step for _, step in self._model.steps)
            estimator.partial_fit(words.transform(texts), subjects)
            self._keep(self._model)

    def _suggest_batch(self, documents: list[Document], params: dict[str, Any]) -> SuggestionBatch:
        """Return the scores of the best subjects of each document."""
        self.initialize()
        if self._model is None:
            raise NotInitializedException("not trained", backend_id=self.backend_id)
        words, estimator = (step for _, step in self._model.steps)
        X = words.transform([self._text(document.text) for document in documents])
        ids, values = estimator.rank(X, int(params["limit"]))
        return SuggestionBatch(self._as_subjects(ids, values, estimator.label_names_))

    def _as_subjects(self, ids: Any, values: Any, names: tuple[str, ...]) -> Any:
        """Return scores in (0, 1] by subject, documents × subjects."""
        suggested, places = np.unique(ids, return_inverse=True)
        numbers = [self.project.subjects.by_uri(names[label]) for label in suggested]
        subject_of = np.array([-1 if number is None else number for number in numbers])
        shape = (len(ids), len(self.project.subjects))
        rows = np.repeat(np.arange(len(ids)), ids.shape[1])
        subjects, scores = subject_of[places.ravel()], np.minimum(values.ravel(), 1.0)
        kept = (scores > 0) & (subjects >= 0)  # a subject may have left the vocabulary
        data = scores[kept].astype(np.float32)
        return sparse.csr_array((data, (rows[kept], subjects[kept])), shape=shape)

    def _read(self, corpus: DocumentCorpus) -> tuple[list[str], list[list[str]]]:
        """Return the texts of the documents and the URIs of their subjects."""
        texts, subjects = [], []
        for document in corpus.documents:
            texts.append(self._text(document.text))
            subjects.append([self._uri(subject) for subject in document.subject_set])
        return texts, subjects

    def _uri(self, subject: int) -> str:
        """Return the URI of a subject of the vocabulary."""
        return str(self.project.subjects[subject].uri)

    def _keep(self, model: Pipeline) -> None:
        """Use a model from now on, and save it; its folder is replaced as a whole."""
        self._model = model
        save(model, Path(self.datadir) / MODEL)


annif.backend._backend_fns["vicinal"] = lambda: VicinalBackend


class Config(annif.default_config.Config):
    """Annif's default configuration; importing this module registers the backend."""


class ProductionConfig(annif.default_config.ProductionConfig):
    """Annif's configuration for its server."""
