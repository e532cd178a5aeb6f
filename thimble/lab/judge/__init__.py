"""A contest: judge every strategy in a folder by laws, cost, faults and planted facts."""
