"""Collections of text in layouts of their own: one small adapter each, one recipe for all.

An adapter turns files into a :class:`~vicinal.datasets.catalogue.adapters.corpus.Corpus` of texts
and label sets; ``corpus.TextRecipe`` makes words into features.
"""
