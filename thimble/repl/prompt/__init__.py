"""The prompt: the input line, its completion, the meter below it, and Ctrl-C."""
