"""Tool calls that a model writes as text: of its own accord, or by the text ReAct protocol."""
