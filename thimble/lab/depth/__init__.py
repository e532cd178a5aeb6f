"""One fact at ten depths of a prompt."""
