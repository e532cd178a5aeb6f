"""The bounds of foreign files."""

MOST_BYTES, MOST_LINES, MOST_LINE_BYTES = 200_000_000, 1_000_000, 32_000_000
"""A journal or a recording with more is not read; a longer line is damage."""
MOST_BRANCHES = 10_000
"""A journal with more is not read: finding the start of a branch takes longer with each."""
MOST_RUNS_BYTES = 500_000_000
"""The most bytes of a file of trajectories, unpacked."""
MOST_INPUT_BYTES = 64_000_000
"""The most bytes of input that is read whole: a conversation to prepare, one prompt, a table of rows (unpacked)."""
