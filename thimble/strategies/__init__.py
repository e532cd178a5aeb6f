"""Strategies: how a session manages its context. One strategy a file; `table` has all, `spec` reads their names."""
