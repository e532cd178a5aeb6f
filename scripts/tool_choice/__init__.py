"""The choice of tool by a small model: made-up libraries, what to call in them, and how often a model chooses right."""
