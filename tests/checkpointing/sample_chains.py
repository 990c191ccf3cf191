"""Chains to plan for."""

import random

from course_lib.checkpointing import Node


def unit_chain(length: int) -> dict[int, Node]:
    """Equal layers, each of which needs its input and takes one step."""
    return {0: Node()} | {node: Node((node - 1,), (node - 1,)) for node in range(1, length + 1)}


def random_chain(length: int, seed: int, largest: int = 4) -> dict[int, Node]:
    """Layers of any size and time, which need their inputs, their outputs, both or neither; some are views."""
    draw = random.Random(seed)
    chain = {0: Node(output_bytes=draw.randint(1, largest))}
    for node in range(1, length + 1):
        if draw.random() < 0.15:
            chain[node] = Node((node - 1,), output_bytes=0, forward_time=0, view_of=node - 1)
            continue
        needs = tuple(each for each in (node - 1, node) if draw.random() < 0.6)
        own = draw.choice([0, 0, draw.randint(1, largest)])
        chain[node] = Node((node - 1,), needs, draw.randint(1, largest), own, draw.randint(1, 9))
    return chain
