"""Parts that run inside other programs: the backend for Annif.

Each module imports the program it belongs to, and is imported by that program's configuration.
"""
