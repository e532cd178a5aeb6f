"""Simulate a run of equal turns under each strategy."""
