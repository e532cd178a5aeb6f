"""The work of commands on a session, without a screen."""
