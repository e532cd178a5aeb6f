"""Calls of tools that a model writes as text: those it prints by itself, and text ReAct for a model without tools."""
