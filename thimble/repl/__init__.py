"""The terminal program: the command line, the prompt, the commands and the screen."""

__version__ = "0.1.0"
