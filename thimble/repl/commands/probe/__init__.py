"""/probe: ask outside the session what is left of a planted fact, and follow it through all calls."""
