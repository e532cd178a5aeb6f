"""Cassettes: what a model said in a session, on a tape that answers instead of it."""
