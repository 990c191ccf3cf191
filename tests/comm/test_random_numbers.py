"""Every simulated rank draws the numbers that it would draw alone, whoever else draws between."""

import pytest
import torch

from course_lib import simulate
from course_lib.comm.simulator import torch_state


def _draws(rank: int, turn: int) -> list[float]:
    """What a rank draws in a turn: nothing, one normal number (of a pair, the second of which is kept), or a whole
    round of the generator, after which its count of numbers left is that of the beginning."""
    if turn % 3 != rank % 3:
        return []
    return torch.randn(1).tolist() if rank % 2 else torch.rand(624).tolist()


def _program(comm) -> list[list[float]]:
    found = []
    for turn in range(8):
        found.append(_draws(comm.rank, turn))
        comm.barrier()
    return found


def _alone(rank: int) -> list[list[float]]:
    torch.manual_seed(rank)
    return [_draws(rank, turn) for turn in range(8)]


@pytest.mark.parametrize("ranks", ["greenlets", "threads"])
@pytest.mark.parametrize("looks", [True, False])
def test_a_rank_draws_what_it_would_draw_alone(monkeypatch, ranks, looks):
    if not looks:  # as where the place in the generator's memory is not found
        monkeypatch.setattr(torch_state, "_place_of_draws", lambda: (torch.default_generator._cdata, 0))
    with torch.random.fork_rng():
        alone = [_alone(rank) for rank in range(5)]
    assert simulate(_program, 5, ranks=ranks).results == alone


def test_who_has_not_drawn_costs_no_copy_of_the_state_and_who_has_does(monkeypatch):
    taken = []
    own = torch_state.RankNumbers
    monkeypatch.setattr(
        own, "leave", lambda self, rank, plain=own.leave: (plain(self, rank), taken.append(dict(self._untouched)))[0]
    )

    def program(comm):
        comm.barrier()
        if comm.rank == 1:
            torch.rand(1)
        comm.barrier()

    simulate(program, 3)
    assert set(taken[-1]) == {0, 2}


def test_looking_for_the_place_changes_nothing_that_is_drawn():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    torch_state._place_of_draws.cache_clear()
    assert torch_state._place_of_draws()[1] > 100
    assert torch.equal(state, torch.get_rng_state())
