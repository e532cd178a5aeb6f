"""Questions under strategies, budgets, seeds and models, asked for real; every finished job is kept."""
