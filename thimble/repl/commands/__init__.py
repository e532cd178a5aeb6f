"""The slash commands: a file or a folder for each, and the table of them."""
