"""The two ways in which a model calls tools: the server's own, and objects of an enforced schema."""
