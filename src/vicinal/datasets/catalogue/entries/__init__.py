"""The facts of every data set, one module per source. Each module defines ``ENTRIES``."""
