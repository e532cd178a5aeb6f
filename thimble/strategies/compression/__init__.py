"""Compression: texts in fewer tokens, without a loss (tables, references, a tidied terminal) or by an excerpt."""
