"""Train a small model to choose its tool, on made-up libraries in which the right call is known."""
