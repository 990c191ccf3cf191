"""Graphs that chance draws, where a graph is narrow, and what a tree decomposition is."""

from random import Random

from course_lib.checkpointing import Node
from course_lib.checkpointing.graphs import computed_nodes


def any_tree(size, random):
    """Each node but the last gives its value to one other; a node comes right after all that it takes."""
    takers = {node: random.randrange(node) for node in range(1, size)}
    graph = {"given": Node(output_bytes=0)}

    def add(node):
        inputs = tuple(each for each, taker in takers.items() if taker == node)
        for each in inputs:
            add(each)
        graph[node] = Node(inputs or ("given",), inputs)

    add(0)
    return graph


def any_graph(size, random: Random):
    """Each node takes the one before it and perhaps an earlier one; bytes, times and needs by chance."""
    graph = {0: Node(output_bytes=0)}
    for node in range(1, size + 1):
        inputs = tuple({node - 1, random.randrange(max(0, node - 4), node)})
        needs = random.choice([(), inputs, (node,)])
        graph[node] = Node(inputs, needs, random.randint(1, 4), random.choice([0, 0, 2]), random.randint(1, 5))
    return graph


def narrow_cuts(graph):
    """The nodes after which one computed value crosses; the last node is none of them."""
    nodes = computed_nodes(graph)
    last = {each: place for place, node in enumerate(nodes) for each in graph[node].inputs}
    return [cut for place, cut in enumerate(nodes[:-1]) if sum(last[each] > place for each in nodes[: place + 1]) == 1]


def check_decomposition(decomposition, graph):
    """Every edge lies in a bag, and the bags of a node hang together."""
    for node in graph:
        assert all(any({node, each} <= bag for bag in decomposition.bags) for each in graph[node].inputs)
        held = [number for number, bag in enumerate(decomposition.bags) if node in bag]
        assert sum(decomposition.parents[number] not in held for number in held) == 1
