"""Trainings that are killed end with the weights of one that was not, and no checkpoint is lost."""

import pytest

from course_lib import simulate
from course_lib.faults.experiments import kill_training, live
from course_lib.tasks import load_digits


def kill_again_and_again(kills: int, world_size: int, seed: int) -> None:
    """Until there have been so many kills; every training ends as one that was left alone."""
    expected = kill_training(0, world_size).weights
    assert len(set(expected)) == 1
    killed = 0
    while killed < kills:
        seed += 1
        trained = kill_training(kills - killed, world_size, seed=seed)
        assert trained.weights == expected
        assert trained.lost == 0
        assert all(life.ended_at >= life.began_at for life in trained.lives)
        in_saves = [life.died_at - life.ended_at for life in trained.lives if life.in_a_save]
        assert world_size > 1 or set(in_saves) <= {5}  # all since the save before; that of an earlier life counts once
        killed += len(trained.lives)


def test_a_training_killed_now_and_then_ends_with_the_same_bits():
    kill_again_and_again(kills=4, world_size=1, seed=0)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_life_with_another_number_of_ranks_goes_on_where_the_last_one_was(tmp_path, ranks):
    digits = load_digits()
    simulate(live, 2, (digits, str(tmp_path), 10, 5))
    weights = simulate(live, ranks, (digits, str(tmp_path), 15, 5)).results
    assert len(set(weights)) == 1
    trained = (tmp_path / f"trained-{ranks - 1}").read_text().split()
    assert [int(step) for step in trained][-5:] == [11, 12, 13, 14, 15]
    assert len(trained) == (15 if ranks == 1 else 5)  # rank 0 was there before, rank 2 was not


def test_a_life_of_more_steps_than_lie_between_two_saves_brings_a_checkpoint():
    trained = kill_training(3, world_size=2, steps=100, mean_life_s=0.01, spared_steps=6)
    assert trained.lives  # 100 steps are many more than three lives take
    assert trained.lost == 0
    assert all(life.ended_at >= life.began_at + 5 for life in trained.lives)
    assert [life.began_at for life in trained.lives[1:]] == [life.ended_at for life in trained.lives[:-1]]
    assert trained.weights == kill_training(0, world_size=2, steps=100).weights


@pytest.mark.slow
def test_fifty_kills_of_one_process_lose_nothing():
    kill_again_and_again(kills=50, world_size=1, seed=100)


@pytest.mark.slow
def test_kills_of_a_random_rank_lose_nothing():
    kill_again_and_again(kills=8, world_size=2, seed=200)
