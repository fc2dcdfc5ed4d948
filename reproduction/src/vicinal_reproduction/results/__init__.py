"""Stored results: those of this distribution, and the user's own folders."""
