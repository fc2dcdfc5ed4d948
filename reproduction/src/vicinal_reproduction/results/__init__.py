"""Stored results: the ones that are part of this distribution, and folders of a user's own."""
