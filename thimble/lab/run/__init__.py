"""Ask real models questions under strategies, budgets, seeds and models; every finished job is kept."""
