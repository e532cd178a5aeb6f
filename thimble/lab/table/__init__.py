"""Tables of strategies over the same instances: those of The Complexity Trap recomputed, and anybody's own."""
