"""The network: Qwen2's architecture, small; as plain as it can be written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of what was read so far, by layer; each of shape (batch, heads, tokens, head size)."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a network."""

    vocabulary: int = 2048
    width: int = 192
    layers: int = 4
    heads: int = 3
    inner: int = 512
    theta: float = 1e6
    epsilon: float = 1e-6
    longest: int = 8192
    """Tokens of context that servers are told of."""

    @property
    def head(self) -> int:
        """Size of an attention head."""
        return self.width // self.heads


class Attention(nn.Module):
    """Causal attention with rotary positions."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.q_proj = nn.Linear(shape.width, shape.width)
        self.k_proj = nn.Linear(shape.width, shape.width)
        self.v_proj = nn.Linear(shape.width, shape.width)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, ...]:
        """The new state, and the keys and values to remember. `past` is read by every sequence of the batch."""
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.shape.heads, self.shape.head).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotated(q, *turn), rotated(k, *turn)
        if past is not None:
            k, v = (torch.cat([old.expand(batch, -1, -1, -1), new], 2) for old, new in zip(past, (k, v), strict=True))
        if past is None or length == 1:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        else:
            before = k.shape[2] - length
            seen = torch.ones(length, k.shape[2], dtype=torch.bool).tril(before)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, width)), k, v


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The new state."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and SwiGLU, each added to what it read."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(shape), Mlp(shape)
        self.input_layernorm = nn.RMSNorm(shape.width, shape.epsilon)
        self.post_attention_layernorm = nn.RMSNorm(shape.width, shape.epsilon)


class Model(nn.Module):
    """Tokens in, states out; `logits` makes scores of states. Its parameters are named as in Qwen2ForCausalLM."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, shape.epsilon)
        angle = shape.theta ** (-torch.arange(0, shape.head, 2) / shape.head)
        angles = torch.outer(torch.arange(shape.longest), angle).repeat(1, 2)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, tokens: Tensor, past: Cache | None = None) -> tuple[Tensor, Cache]:
        """States of shape (batch, tokens, width), and the cache with these tokens behind `past`."""
        start = past[0][0].shape[2] if past else 0
        turn = self.cosine[start : start + tokens.shape[1]], self.sine[start : start + tokens.shape[1]]
        x, cache = self.embed_tokens(tokens), []
        for number, layer in enumerate(self.layers):
            added, k, v = layer.self_attn(layer.input_layernorm(x), turn, past[number] if past else None)
            x = x + added
            x = x + layer.mlp(layer.post_attention_layernorm(x))
            cache.append((k, v))
        return self.norm(x), cache

    def logits(self, states: Tensor) -> Tensor:
        """A score for each token of the vocabulary; the embeddings serve as the last layer too."""
        return F.linear(states, self.embed_tokens.weight)


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Heads with their positions turned into them (Su et al., RoFormer, 2021), halves as pairs as Qwen2 has it."""
    left, right = x.chunk(2, -1)
    return (x * cosine + torch.cat([-right, left], -1) * sine).to(x.dtype)


def initialise(model: Model, seed: int) -> None:
    """Random weights; in the first layer heads that look one, two and three tokens back, in the second one for one.

    A head's bias of q and k alone gives a score that depends on the distance only: a sum of cosines, highest where k's
    is q's turned back by that distance. Nothing is copied before there are such heads, and they take long to come.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            scale = 0.02 if "embed" in name else 1 / math.sqrt(weight.shape[1])
            scale /= math.sqrt(2 * model.shape.layers) if "o_proj" in name or "down_proj" in name else 1
            nn.init.normal_(weight, std=scale, generator=generator)
        elif name.endswith("bias"):
            nn.init.zeros_(weight)
    for layer, heads in ((0, model.shape.heads), (1, 1)):
        for head in range(heads):
            _look_back(model.layers[layer].self_attn, head, 1 + head)


def _look_back(attention: Attention, head: int, distance: int) -> None:
    shape = attention.shape
    half = shape.head // 2
    angle = shape.theta ** (-torch.arange(0, shape.head, 2) / shape.head)
    place = slice(head * shape.head, (head + 1) * shape.head)
    strength = 6.0 * (angle > 0.02)  # slow pairs tell near distances apart too little
    with torch.no_grad():
        for part in (attention.q_proj, attention.k_proj):
            part.weight[place] *= 0.1
        attention.q_proj.bias[place] = torch.cat([strength, torch.zeros(half)])
        turned = torch.cat([strength * (angle * distance).cos(), strength * (angle * distance).sin()])
        attention.k_proj.bias[place] = turned
