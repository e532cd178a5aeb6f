"""What a command works out of a session, without a screen."""
