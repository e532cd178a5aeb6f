"""A sweep: grids of settings of strategies, and the best of them."""
