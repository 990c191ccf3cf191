"""Random numbers of a rank: no two masks alike, but those that ranks must share; outside nothing changes."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import simulate
from course_lib.replay import Replay
from course_lib.tensor_parallel import random_of_rank


def masks(comm, seeds, calls, same):
    """(seed, rank, call) -> mask, and two random numbers drawn outside."""
    torch.manual_seed(5)
    streams, found = {seed: random_of_rank(comm, seed, same=same) for seed in seeds}, {}
    outside = [torch.rand(1).item()]
    for call, (seed, numbers) in itertools.product(range(calls), streams.items()):
        with numbers:
            found[seed, comm.rank, call] = tuple((torch.rand(64) < 0.5).tolist())
    return found, [*outside, torch.rand(1).item()]


@given(st.lists(st.integers(-3, 2**40), min_size=1, max_size=4, unique=True), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_masks_of_all_seeds_ranks_and_calls_differ_where_ranks_have_their_own(seeds, world_size, calls):
    results = simulate(masks, world_size, args=(seeds, calls, False), ranks="threads").results
    own = [mask for found, _ in results for mask in found.values()]
    assert len(set(own)) == len(own) == len(seeds) * world_size * calls
    shared = simulate(masks, 1, args=(seeds, calls, True)).results[0][0].values()
    assert len(set(own) | set(shared)) == len(own) + len(shared)


def test_seeds_side_by_side_on_ranks_side_by_side_share_no_mask():
    results = simulate(masks, 8, args=(range(8), 2, False)).results
    assert len({mask for found, _ in results for mask in found.values()}) == 128


def test_shared_masks_are_those_of_one_process_and_what_is_outside_goes_on():
    alone, outside = masks(type("Alone", (), {"rank": 0}), [1, 2], 3, True)
    torch.manual_seed(5)
    assert outside == [torch.rand(1).item(), torch.rand(1).item()]
    for rank, (found, _) in enumerate(simulate(masks, 3, args=([1, 2], 3, True)).results):
        assert found == {(seed, rank, call): mask for (seed, _, call), mask in alone.items()}


class Masked(nn.Module):
    """A layer whose dropout is of its rank."""

    def __init__(self, comm):
        super().__init__()
        self.numbers = random_of_rank(comm, 1, same=False)

    def forward(self, x):
        with self.numbers:
            return nn.functional.dropout(x)


def test_a_recomputation_draws_the_same_mask_and_a_checkpoint_goes_on():
    def program(comm):
        layer, x = Masked(comm), torch.ones(64)
        replay = Replay(layer, x.device)
        with replay.run():
            first = layer(x)
        second = layer(x)
        with replay.run():
            again = layer(x)
        resumed = Masked(comm)
        resumed.load_state_dict(layer.state_dict())
        return first, second, again, layer(x), resumed(x)

    first, second, again, third, resumed = simulate(program, 1).results[0]
    assert torch.equal(first, again)
    assert torch.equal(third, resumed)
    assert len({tuple(each.tolist()) for each in (first, second, third)}) == 3


def test_entered_twice_is_refused_and_an_error_inside_leaves_nothing_changed():
    numbers = random_of_rank(type("Alone", (), {"rank": 0}), 1, same=True)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="in use already"), numbers, numbers:
        pass
    assert torch.equal(before, torch.get_rng_state())
    with pytest.raises(ZeroDivisionError), numbers:
        raise ZeroDivisionError
    with numbers:
        torch.rand(1)
    assert torch.equal(before, torch.get_rng_state())
