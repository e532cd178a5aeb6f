"""`thimble doctor`: check everything that a session needs, with a fix to type for each problem."""
