"""The screen: what is drawn, in which colours, and what is kept from it."""
