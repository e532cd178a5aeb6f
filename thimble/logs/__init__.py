"""Recorded sessions of other agents: a reader for each format, chosen by the content of a file."""
