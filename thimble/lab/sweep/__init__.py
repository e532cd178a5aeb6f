"""A sweep: try grids of strategy settings, and find the best."""
