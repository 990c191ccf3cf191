"""Graphs that chance draws."""

from random import Random

from course_lib.checkpointing import Node


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
