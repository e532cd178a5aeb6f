"""The lab: each file answers one question about the whole program."""
