"""The laws of every strategy (docs/reference/laws.md), tried on generated histories. They need Hypothesis."""
