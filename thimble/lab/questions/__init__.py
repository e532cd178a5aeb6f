"""Questions: which strategy keeps the answers."""
