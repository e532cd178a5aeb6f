"""The live page: the running session in a browser, on the second screen and on the room's phones."""
