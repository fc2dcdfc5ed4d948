"""Mutation tests: change one operator or number, and see whether a test notices."""
