"""The kinds of text that a tool returns, one file each: how each is cut into units, and what a unit is about."""
