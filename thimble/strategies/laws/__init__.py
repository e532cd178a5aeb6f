"""The laws (docs/reference/laws.md): what every strategy keeps, tried on generated histories. They need Hypothesis."""
