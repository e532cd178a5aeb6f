"""Shared parts of every model server: addresses, HTTP, retries, tool calls and thinking."""
