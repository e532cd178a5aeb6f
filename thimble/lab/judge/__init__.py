"""A contest: judge every strategy in a folder by laws, cost, facts in view and repeated calls."""
