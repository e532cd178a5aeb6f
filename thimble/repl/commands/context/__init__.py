"""The X-ray: what one model call is sent, beside the history that it was made from."""
