"""Replay recorded trajectories under each strategy: their prompts and costs."""
