"""The slash commands: a file or a folder each, and the table of them."""
