"""Benchmarks: us and the peers on the same data in one process."""
