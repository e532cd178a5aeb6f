"""Replay: the prompts and the cost of recorded trajectories under each strategy."""
