"""The experiments of `thimble lab`: each folder answers one question about strategies."""
