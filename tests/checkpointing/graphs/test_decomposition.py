"""Tree decompositions: known widths, laws on graphs that chance draws."""

from random import Random

import networkx
import pytest
from networkx.algorithms.approximation import treewidth_min_fill_in

from course_lib.checkpointing import Node
from course_lib.checkpointing.graphs import (
    chain_shape,
    cut_width,
    residual_shape,
    tree_decomposition,
    tree_shape,
    unet_shape,
)

from .drawn import any_graph, check_decomposition


def graph_of(edges, size):
    return {node: Node(tuple(a for a, b in edges if b == node)) for node in range(size)}


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (chain_shape(9), 1),
        (tree_shape(4), 1),
        (residual_shape(6), 2),
        (unet_shape(9), 2),
        (graph_of([(0, 1), (1, 2), (2, 3), (0, 3)], 4), 2),
        (graph_of([(a, b) for b in range(6) for a in range(b)], 6), 5),
        ({"alone": Node()}, 0),
    ],
)
def test_known_graphs_have_their_known_width(graph, width):
    decomposition = tree_decomposition(graph)
    check_decomposition(decomposition, graph)
    assert decomposition.width == width


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_width_of_a_graph_of_cliques_grown_one_by_one_is_exact(k):
    random, cliques = Random(k), [tuple(range(k))]
    edges = [(a, b) for b in range(k) for a in range(b)]
    for node in range(k, 25):
        clique = random.choice(cliques)
        edges += [(each, node) for each in clique]
        cliques += [(*clique[:each], *clique[each + 1 :], node) for each in range(k)]
    assert tree_decomposition(graph_of(edges, 25)).width == k


@pytest.mark.parametrize("seed", range(20))
def test_it_is_a_decomposition_of_any_graph_and_about_as_wide_as_networkx_finds(seed):
    graph = any_graph(30, Random(seed))
    decomposition = tree_decomposition(graph)
    check_decomposition(decomposition, graph)
    edges = [(each, node) for node in graph for each in graph[node].inputs]
    assert abs(decomposition.width - treewidth_min_fill_in(networkx.Graph(edges))[0]) <= 1


def test_a_unet_has_width_2_and_cuts_as_wide_as_it_has_levels():
    assert [cut_width(unet_shape(levels)) for levels in (1, 5, 9)] == [2, 6, 10]
    assert cut_width(chain_shape(4)) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_width_of_cuts_is_what_a_look_at_each_cut_counts(seed):
    graph = any_graph(30, Random(seed))
    order = list(graph)
    last = {each: number for number, node in enumerate(order) for each in graph[node].inputs}
    waiting = [sum(last.get(each, -1) > p for each in order[: p + 1]) for p in range(len(order))]
    assert cut_width(graph) == max(waiting)
    assert cut_width({}) == 0


def test_the_width_of_cuts_looks_at_each_node_once():
    class Counted(dict):
        looks = 0

        def __getitem__(self, key):
            self.looks += 1
            return super().__getitem__(key)

    looks = []
    for levels in (20, 40):
        graph = Counted(unet_shape(levels))
        cut_width(graph)
        looks.append(graph.looks)
    assert looks[1] < 2.2 * looks[0]
