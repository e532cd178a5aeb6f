"""Strategies: how a session manages its context. One strategy a file, and the table of all."""

from strategies.parameter import Parameter, parameters
from strategies.spec import parse
from strategies.table import STRATEGIES

__all__ = ["STRATEGIES", "Parameter", "parameters", "parse"]
