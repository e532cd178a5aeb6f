"""A contest: every strategy in a folder is judged by laws, cost, faults and planted facts."""
