"""The Cannon explorer: blocks lie where the algorithm brings them, and each rank has sent what the formula says."""

from dataclasses import replace

import pytest
import torch

from course_lib import simulate
from course_lib.model_parallel import Grid, cannon_elements_sent, cannon_product, matrix_products
from course_lib.widgets import CannonExplorer
from course_lib.widgets.cannon import CannonSetting, describe_turn, turn_of

from .parts import facts_of, part


def turning(side, step=0, rows=256, inner=4096, columns=1024):
    return CannonSetting(side * side, rows, inner, columns, step)


@pytest.mark.parametrize("side", [1, 2, 3, 5])
def test_blocks_lie_where_cannons_algorithm_brings_them(side, monkeypatch):
    """Each block is its own number, and all that ranks receive is written down."""
    held = {rank: [] for rank in range(side * side)}
    turn = matrix_products._turn

    def watched(grid, block, *more):
        held[grid.comm.rank].append(int(turned[0, 0])) if len(turned := turn(grid, block, *more)) else None
        return turned

    monkeypatch.setattr(matrix_products, "_turn", watched)
    numbers = torch.arange(float(side * side)).reshape(side, side)
    simulate(lambda comm: cannon_product(comm, *[Grid(comm, side, side).block(numbers)] * 2, side), side * side)
    for step in range(1, side + 1):
        turned = turn_of(turning(side, step))
        for rank, blocks in held.items():
            row, column = divmod(rank, side)
            shown = [side * i + j for i, j in (turned.a[row][column], turned.b[row][column])]
            assert shown == blocks[2 * (step - 1) : 2 * step]
        assert turned.meeting == side * side


def test_before_they_turn_blocks_lie_as_they_were_cut_and_only_a_diagonal_meets():
    turned = turn_of(turning(3))
    assert turned.a == turned.b == [[(row, column) for column in range(3)] for row in range(3)]
    assert turned.meeting == 3
    assert "on 3 of 9 ranks" in describe_turn(turned)
    assert turned.added == [[[]] * 3] * 3


@pytest.mark.parametrize("side", [1, 2, 3, 8])
def test_at_the_end_each_rank_has_added_every_product_and_sent_what_the_formula_says(side):
    setting = turning(side, side, rows=20, inner=17, columns=11)
    last = turn_of(setting)
    assert all(sorted(added) == list(range(side)) for rows in last.added for added in rows)
    assert [count for row in last.sent for count in row] == cannon_elements_sent(20, 17, 11, side * side)
    sent = [max(map(max, turn_of(replace(setting, step=step)).sent)) for step in range(side + 1)]
    assert sent == sorted(sent)
    assert sent[0] == 0


def test_a_rank_holds_one_block_of_each_and_not_its_whole_row_and_column():
    assert turning(4).held == {"A": 64 * 1024, "B": 1024 * 256, "C": 64 * 256}
    held = part(CannonExplorer(world_size=9, rows=9, inner=9, columns=9), "A rank holds").bars
    assert held["Cannon"] == {"A": 36, "B": 36, "C": 36}
    assert held["its whole row and column"] == {"A": 108, "B": 108, "C": 36}


def test_its_steps_are_those_of_the_square_and_ranks_beyond_it_rest():
    explorer = CannonExplorer(world_size=8)
    explorer.set(step=2)
    assert explorer.caption.startswith("4 of 8 ranks stand in a square. Step 2 of 2: ")
    assert facts_of(explorer)["grid"] == "2 × 2 ranks"
    explorer.set(world_size=64, step=8)
    assert explorer.caption.endswith("C is whole.")
    explorer.set(world_size=1)
    assert explorer.caption == "One rank has nobody to turn with: it multiplies A and B."


def test_play_begins_with_the_blocks_as_they_were_cut():
    explorer = CannonExplorer()
    assert explorer.values["step"] == 0
    explorer.player[1].value = 1  # what the button does
    assert explorer.caption.startswith("Step 1 of 3: ")
