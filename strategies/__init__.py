"""Strategies: how a session manages its context. One a file, and the table of them."""

from strategies.parameter import Parameter, parameters
from strategies.table import STRATEGIES, parse

__all__ = ["STRATEGIES", "Parameter", "parameters", "parse"]
