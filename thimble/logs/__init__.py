"""Recorded sessions of other agents: a reader for each form, found by the content of a file."""
