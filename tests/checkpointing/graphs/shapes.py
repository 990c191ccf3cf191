"""Small graphs by hand: chains, residual nets, U-Nets, trees, and any that chance draws."""

from random import Random

from course_lib.checkpointing import Node


def chain(length):
    return {0: Node(output_bytes=0)} | {n: Node((n - 1,), (n - 1,)) for n in range(1, length + 1)}


def residual(blocks):
    """Two layers and a sum each; a sum's backward pass needs nothing."""
    graph, last = {"x": Node(output_bytes=0)}, "x"
    for block in range(blocks):
        graph[f"a{block}"] = Node((last,), (last,))
        graph[f"b{block}"] = Node((f"a{block}",), (f"a{block}",))
        graph[f"sum{block}"] = Node((f"b{block}", last))
        last = f"sum{block}"
    return graph


def unet(levels):
    graph, last = {"x": Node(output_bytes=0)}, "x"
    for level in range(levels):
        graph[f"down{level}"] = Node((last,), (last,))
        last = f"down{level}"
    graph["bottom"] = Node((last,), (last,))
    last = "bottom"
    for level in reversed(range(levels)):
        graph[f"up{level}"] = Node((last, f"down{level}"), (last, f"down{level}"))
        last = f"up{level}"
    return graph


def tree(depth, name="root"):
    """A balanced one: each node takes the values of two; leaves are given and small."""
    if depth == 0:
        return {name: Node(output_bytes=0)}
    children = f"{name}0", f"{name}1"
    return tree(depth - 1, children[0]) | tree(depth - 1, children[1]) | {name: Node(children, children)}


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
