"""What eats the tokens of recorded sessions."""
