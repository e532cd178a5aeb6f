"""The corpus: the articles and sample files, and the code that reads and searches them."""
