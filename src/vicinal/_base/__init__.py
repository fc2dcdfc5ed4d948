"""What every layer stands on: errors, the one door for input, threads, progress.

Input: whatever a caller passed. Output: arrays of one known shape, or an error that names the
argument, what was expected and what came. Imports nothing of the package but the compiled core.
"""
