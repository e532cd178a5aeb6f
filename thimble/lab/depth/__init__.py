"""Ask for one fact at ten depths of a prompt."""
