"""The lab: one question a file, asked of the program as a whole."""
