"""What is left of a planted fact: asked out of band, and followed through the calls under each strategy."""
