"""`thimble doctor`: what a session needs, looked at piece by piece, with what to type where one fails."""
