"""Branches: go on from an earlier question, under the same strategy or another, and lose nothing of what there was.

`moves` are the commands that begin branches, `tree` shows them and what each has cost.
"""
