"""Compare strategies over the same instances, from a CSV file of outcomes."""
