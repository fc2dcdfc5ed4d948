"""The facts of every data set, by where it came from. Each module makes ``ENTRIES``."""
