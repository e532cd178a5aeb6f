"""Recompute the tables of The Complexity Trap from its published rows."""
