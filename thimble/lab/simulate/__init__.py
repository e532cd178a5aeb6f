"""A run whose turns are all of one size, under each strategy."""
