"""Ollama, through its own API."""
