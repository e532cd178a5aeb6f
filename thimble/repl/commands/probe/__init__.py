"""/probe: ask about a planted fact outside the session, and follow it through all calls."""
