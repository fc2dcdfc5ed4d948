"""Text collections with their own file layouts: one adapter each, and one recipe for all.

An adapter turns files into a :class:`~vicinal.datasets.catalogue.adapters.corpus.Corpus` of texts
and label sets; ``corpus.TextRecipe`` turns words into features.
"""
