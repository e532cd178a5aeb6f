"""/compare: the same conversation under several strategies, replayed or really asked."""
