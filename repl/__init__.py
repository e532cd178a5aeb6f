"""The terminal: command line, sessions, prompt, commands and rendering."""

__version__ = "0.1.0"
