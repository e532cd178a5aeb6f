"""Train small language models, on one CPU thread or on a GPU. Needs `pip install 'thimble-agent[train]'`."""
