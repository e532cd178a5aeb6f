"""Ask questions in real sessions under strategies, budgets, seeds and models; every finished job is kept."""
