"""Counting tokens, and the prefix that two prompts share."""
