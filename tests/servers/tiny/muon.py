"""Muon for the matrices of the layers, Adam for the rest."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MATRIX_RATE, OTHER_RATE = 0.02, 0.003
MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Optimiser:
    """One step at a time, each with a rate of 0 to 1 of the usual."""

    def __init__(self, model: nn.Module) -> None:
        named = list(model.named_parameters())
        self._matrices = [weight for name, weight in named if weight.ndim == 2 and "embed" not in name]
        chosen = {id(weight) for weight in self._matrices}
        self._others = [weight for _, weight in named if id(weight) not in chosen]
        self._momenta = [torch.zeros_like(weight) for weight in self._matrices]
        self._adam = torch.optim.Adam(self._others, lr=OTHER_RATE, betas=(0.9, 0.98))
        self.steps = 0

    def step(self, rate: float) -> None:
        """Move the parameters against their gradients, and clear these."""
        torch.nn.utils.clip_grad_norm_(self._others, 1.0)
        self._adam.param_groups[0]["lr"] = rate * OTHER_RATE
        self._adam.step()
        with torch.no_grad():
            for weight, momentum in zip(self._matrices, self._momenta, strict=True):
                gradient = weight.grad
                assert gradient is not None
                momentum.lerp_(gradient, 1 - MOMENTUM)
                turned = orthogonal(gradient.lerp(momentum, MOMENTUM))
                size = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.mul_(1 - rate * MATRIX_RATE * 0.02).add_(turned, alpha=-rate * MATRIX_RATE * size)
        for weight in (*self._matrices, *self._others):
            weight.grad = None
        self.steps += 1


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearly the nearest matrix with orthogonal rows, by Newton-Schulz (Jordan et al., Muon, 2024)."""
    a, b, c = COEFFICIENTS
    x = (matrix / (matrix.norm() + 1e-7)).bfloat16()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x.T if tall else x).float()
