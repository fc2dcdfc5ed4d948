"""Benchmarks: vicinal and other libraries on the same data in one process."""
