"""Replay: what recorded trajectories would have been sent, and have cost, under each strategy."""
