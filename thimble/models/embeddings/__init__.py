"""Embeddings: vectors of texts, near each other where the texts mean the same."""
