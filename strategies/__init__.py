"""Strategies: how a session manages its context. One strategy a file, and the table of all."""

from thimble.strategies.parameter import Parameter, parameters
from thimble.strategies.spec import parse
from thimble.strategies.table import STRATEGIES

__all__ = ["STRATEGIES", "Parameter", "parameters", "parse"]
