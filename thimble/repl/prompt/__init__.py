"""The prompt: what is typed, its completion, the line below it, and Ctrl-C."""
