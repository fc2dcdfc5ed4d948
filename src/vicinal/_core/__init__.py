"""Foundations of every layer: errors, input validation, threads, progress.

Input: whatever a caller passed. Output: arrays of one known shape, or an error that names the
argument, the expected value and the actual one. Imports nothing from the package except the
compiled core.
"""
