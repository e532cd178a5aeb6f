"""Models on GPUs: the tokens of KV cache that fit, and the time of one iteration of the server.

Bytes, seconds and tokens. GB are 10^9 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GB = 1e9
USABLE = 0.9
"""The share of the memory that a server uses: the default of vLLM's gpu_memory_utilization."""
ATTAINED = 3_000 * 2 * 32.8e9 / 312e12
"""The share of its data sheet that a GPU attains, 63 %: the paper's A100 prefills 3,000 tokens per second (3.3) with
32.8 billion parameters, at two operations per parameter and token. Memory and PCIe are assumed to attain the same."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model: parameters, active parameters per token, bytes per parameter, and bytes of KV cache per token.

    `chosen` is the share of the experts that one token uses: 1 for a dense model.
    """

    name: str
    parameters: float
    active: float
    width: int
    kv: int
    chosen: float = 1.0

    @property
    def weights(self) -> float:
        """The bytes of all weights."""
        return self.parameters * self.width

    def read(self, tokens: int) -> float:
        """The bytes of weights that an iteration over this many tokens reads, with every expert that a token uses.

        One token reads the active weights. Tokens choose their experts independently.
        """
        if self.chosen == 1:
            return self.weights
        experts = (self.parameters - self.active) / (1 - self.chosen) * self.width
        return self.weights - experts * (1 - self.chosen) ** tokens


@dataclass(frozen=True, slots=True)
class Gpu:
    """The data sheet of a GPU: bytes of memory, bytes per second of the memory and of the PCIe link, one way.

    `operations` per second, by the bytes of a weight; `chunk` is the maximum tokens that vLLM puts into one iteration.
    """

    name: str
    memory: float
    bandwidth: float
    pcie: float
    operations: Mapping[int, float]
    chunk: int


@dataclass(frozen=True, slots=True)
class Host:
    """A model on GPUs that work as one: memory, bandwidth and operations add up."""

    model: Model
    gpu: Gpu
    gpus: int

    @property
    def room(self) -> int:
        """The tokens of KV cache that fit next to the weights; below 1 if the weights do not fit."""
        return int((self.gpus * self.gpu.memory * USABLE - self.model.weights) // self.model.kv)

    @property
    def bandwidth(self) -> float:
        """The bytes per second that it reads from memory."""
        return ATTAINED * self.gpu.bandwidth * self.gpus

    @property
    def prefill(self) -> float:
        """Tokens per second, if compute is the bottleneck."""
        return ATTAINED * self.gpu.operations[self.model.width] / (2 * self.model.active) * self.gpus

    @property
    def attention(self) -> float:
        """Seconds to read one token of KV cache."""
        return self.model.kv / self.bandwidth

    @property
    def fetch(self) -> float:
        """Seconds to bring one token of KV cache back from the CPU's memory."""
        return self.model.kv / (ATTAINED * self.gpu.pcie * self.gpus)

    def iteration(self, tokens: int) -> float:
        """Seconds of one iteration over this many tokens without attention: bound by reading weights or by compute."""
        return max(self.model.read(tokens) / self.bandwidth, tokens / self.prefill)


def kv_bytes_per_token(layers: int) -> int:
    """The bytes of a token in the KV cache: a key and a value of 2 bytes for each layer, 8 KV heads, 128 dimensions."""
    return 2 * 2 * layers * 8 * 128


QWEN3_32B = Model("DeepSWE (32B)", 32.8e9, 32.8e9, 2, kv_bytes_per_token(64))
QWEN3_CODER = Model("Qwen3-Coder (480B-A35B)", 480e9, 35e9, 1, kv_bytes_per_token(62), chosen=8 / 160)
GLM_4_7 = Model("GLM-4.7 (355B-A32B)", 355e9, 32e9, 1, kv_bytes_per_token(92), chosen=8 / 160)
QWEN3_4B = Model("Qwen3-4B", 4.0e9, 4.0e9, 2, kv_bytes_per_token(36))
A100 = Gpu("A100", 80 * GB, 2_000 * GB, 32 * GB, {2: 312e12}, 2048)
H200 = Gpu("H200", 141 * GB, 4_800 * GB, 64 * GB, {2: 989e12, 1: 1979e12}, 8192)
