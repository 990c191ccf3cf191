"""What asynchronous tensor parallelism could win, and what torchtitan's table says that it won."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "TORCHTITAN_ASYNC",
    "AsyncRow",
    "exposed_share",
    "max_speed_up",
    "product_over_message",
    "speed_up_by_chunks",
]

TENSOR, SEQUENCE = 8, 8_192  # GPUs that share a layer; tokens of a sequence
H100_BYTES_PER_S = 18 * 20.6e9  # 18 NVLinks at NCCL's usable rate (published, NVIDIA/nccl, topo.h)


class AsyncRow(NamedTuple):
    """A model of the table, in bf16 on H100s with 8 tensor-parallel GPUs.

    Attributes:
        keys_width: numbers that the keys of all heads have for a token; values have as many.
        passes: through the collectives of a layer: forward, backward, and forward once more with full checkpointing.
        tokens_per_s: published, of a GPU. overlapped_tokens_per_s: the same with asynchronous tensor parallelism.
    """

    hidden: int
    layers: int
    feed_forward: int
    keys_width: int
    parameters: float
    passes: int
    tokens_per_s: float
    overlapped_tokens_per_s: float


# pytorch/torchtitan, benchmarks/asyncTP_llama3_h100_2025-06, bf16: 64 GPUs and selective checkpointing of operations,
# and 256 GPUs and full checkpointing. The sizes are Llama 3.1's.
TORCHTITAN_ASYNC = {
    "8B": AsyncRow(4096, 32, 14_336, 1024, 8.03e9, 2, 4378, 4809.4),
    "70B": AsyncRow(8192, 80, 28_672, 1024, 70.6e9, 3, 597.3, 652.4),
}


def _message_s(row: AsyncRow) -> float:
    """Of one token in one collective: 7/8 of its numbers, 2 bytes each."""
    return (TENSOR - 1) / TENSOR * row.hidden * 2 / H100_BYTES_PER_S


def exposed_share(row: AsyncRow) -> float:
    """The share of the published step that four collectives a layer and pass take at NVLink's rate, none hidden."""
    return 4 * row.passes * row.layers * _message_s(row) * TENSOR * row.tokens_per_s


def max_speed_up(row: AsyncRow) -> float:
    """Over the published step if all of the collectives were hidden.

    >>> [round(max_speed_up(row), 2) for row in TORCHTITAN_ASYNC.values()]
    [1.21, 1.22]
    """
    return 1 / (1 - exposed_share(row))


def product_over_message(row: AsyncRow) -> dict[str, float]:
    """For the four products of a block, how long one of a part takes, over its message; from 1 on it hides the message.

    A part's products and its message both grow with its tokens: only the numbers count that a rank has for a token. The
    rate of products is that of all the rest of the published step.
    """
    forward_flops = 2 * row.parameters / TENSOR + 4 * row.layers * row.hidden * (SEQUENCE / 2) / TENSOR
    rest_s = (1 - exposed_share(row)) / (TENSOR * row.tokens_per_s)
    flops_per_s = forward_flops * (row.passes + 1) / rest_s
    numbers = {"queries, keys, values": row.hidden + 2 * row.keys_width, "attention's output": row.hidden}
    numbers |= {"gate and up": 2 * row.feed_forward, "down": row.feed_forward}
    message_s = row.hidden * 2 / H100_BYTES_PER_S
    return {name: 2 * row.hidden * count / TENSOR / flops_per_s / message_s for name, count in numbers.items()}


def speed_up_by_chunks(row: AsyncRow) -> float:
    """Over the published step if each product hides what it can: the shorter of itself and its message.

    >>> [round(speed_up_by_chunks(row), 2) for row in TORCHTITAN_ASYNC.values()]
    [1.19, 1.21]
    """
    hidden = sum(min(1.0, ratio) for ratio in product_over_message(row).values()) / 4
    return 1 / (1 - hidden * exposed_share(row))
