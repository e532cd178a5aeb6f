"""Training of small language models, on one thread of a CPU or on a GPU. Needs `pip install 'thimble-agent[train]'`."""
