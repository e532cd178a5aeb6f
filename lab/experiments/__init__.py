"""Experiments: one question a file."""
