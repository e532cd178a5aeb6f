"""The tables of The Complexity Trap, recomputed from its published rows."""
