"""The mesh: every rank in one place, and in one group of each dimension."""

import itertools

import pytest

from course_lib import simulate
from course_lib.mesh import DIMENSIONS, Coordinates, Mesh, MeshRank

ORDERS = list(itertools.permutations(DIMENSIONS))


def test_eight_ranks_by_hand():
    mesh = Mesh(data=2, pipeline=2, tensor=2)
    assert mesh.groups("tensor") == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert mesh.groups("pipeline") == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert mesh.groups("data") == [(0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (5, 1, 1), (1, 3, 2)])
def test_coordinates_and_ranks_are_inverse(shape, order):
    mesh = Mesh(*shape, order=order)
    places = [mesh.coordinates(rank) for rank in range(mesh.world_size)]
    assert len(set(places)) == mesh.world_size
    assert [mesh.rank_at(at) for at in places] == list(range(mesh.world_size))


@pytest.mark.parametrize("order", ORDERS)
def test_every_rank_is_in_one_group_of_each_dimension(order):
    mesh = Mesh(2, 3, 4, order=order)
    for dimension in DIMENSIONS:
        groups = mesh.groups(dimension)
        assert sorted(rank for group in groups for rank in group) == list(range(24))
        assert {len(group) for group in groups} == {getattr(mesh, dimension)}
        for group in groups:
            steps = {b - a for a, b in itertools.pairwise(group)}
            assert steps <= {mesh.stride(dimension)}


@pytest.mark.parametrize("order", ORDERS)
def test_a_group_has_the_ranks_that_differ_in_its_dimensions_only(order):
    mesh = Mesh(2, 3, 2, order=order)
    ranks = range(mesh.world_size)
    for count in range(4):
        for dimensions in itertools.permutations(DIMENSIONS, count):
            fixed = [DIMENSIONS.index(each) for each in DIMENSIONS if each not in dimensions]
            places = {rank: [mesh.coordinates(rank)[each] for each in fixed] for rank in ranks}
            for rank in ranks:
                expected = tuple(other for other in ranks if places[other] == places[rank])
                assert mesh.group_of(rank, *dimensions) == expected


def test_groups_ask_for_coordinates_once_a_group(monkeypatch):
    asked = []
    coordinates = Mesh.coordinates
    monkeypatch.setattr(Mesh, "coordinates", lambda mesh, rank: asked.append(rank) or coordinates(mesh, rank))
    assert len(Mesh(4, 8, 8).groups("tensor")) == len(asked) == 32


def test_the_innermost_dimension_stays_inside_a_node():
    assert not Mesh(2, 2, 4).crosses_nodes("tensor", ranks_per_node=4)
    assert Mesh(2, 2, 4, order=("tensor", "data", "pipeline")).crosses_nodes("tensor", ranks_per_node=4)
    assert Mesh(1, 1, 3).crosses_nodes("tensor", ranks_per_node=2)


def test_ranks_that_differ_in_two_dimensions_have_no_dimension_between_them():
    assert Mesh(2, 2, 2).dimension_between(0, 3) == ""
    assert Mesh(2, 2, 2).dimension_between(0, 0) == ""
    assert Mesh(2, 2, 2).dimension_between(0, 4) == "data"


def test_a_rank_gets_a_communicator_for_each_dimension():
    def groups(comm):
        here = MeshRank(comm, Mesh(2, 3, 2))
        return here.at, here.data.ranks, here.pipeline.ranks, here.tensor.ranks

    assert simulate(groups, world_size=12).results[9] == (Coordinates(1, 1, 1), (3, 9), (7, 9, 11), (8, 9))


def test_what_is_refused():
    with pytest.raises(ValueError, match="must have a rank"):
        Mesh(2, 0, 1)
    with pytest.raises(ValueError, match=r"no part of one, got \(1.5, 1, 1\)"):
        Mesh(1.5, 1, 1)
    with pytest.raises(ValueError, match=r"one of .* got 'sequence'"):
        Mesh(2, 2, 2).group_of(0, "sequence")
    with pytest.raises(ValueError, match="order must name"):
        Mesh(order=("data", "data", "tensor"))
    with pytest.raises(ValueError, match="ranks 0 to 7, got 8"):
        Mesh(2, 2, 2).coordinates(8)
    with pytest.raises(Exception, match="needs 8 ranks, there are 4"):
        simulate(lambda comm: MeshRank(comm, Mesh(2, 2, 2)), world_size=4)
