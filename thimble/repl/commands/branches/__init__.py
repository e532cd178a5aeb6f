"""Branches: go on from an earlier question, under the same strategy or another, and lose nothing of what there was.

`moves` are the commands that begin or change branches, `accounts` add up what
each has cost, `tree` shows them.
"""
