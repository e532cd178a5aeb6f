"""Strategies: how a session manages its context. One a file, and the table of them."""

from strategies.parameter import Parameter, parameters
from strategies.spec import parse
from strategies.table import STRATEGIES

__all__ = ["STRATEGIES", "Parameter", "parameters", "parse"]
