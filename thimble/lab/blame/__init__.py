"""Attribute the tokens of recorded sessions to messages, tools, files and schemas."""
