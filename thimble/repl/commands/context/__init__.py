"""The X-ray: the view of one model call beside the history that it was made from."""
