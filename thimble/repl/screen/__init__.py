"""The screen: drawing, colours, and sanitising."""
