"""Branches: continue from an earlier question, under the same strategy or another, and keep everything.

`moves` has the commands that start branches; `tree` shows the branches and their costs.
"""
