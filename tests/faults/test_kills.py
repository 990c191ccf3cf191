"""Trainings that are killed end with the weights of one that was not, and no checkpoint is lost."""

import pytest

from course_lib.faults.experiments import kill_training


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
        killed += len(trained.lives)


def test_a_training_killed_now_and_then_ends_with_the_same_bits():
    kill_again_and_again(kills=4, world_size=1, seed=0)


@pytest.mark.slow
def test_fifty_kills_of_one_process_lose_nothing():
    kill_again_and_again(kills=50, world_size=1, seed=100)


@pytest.mark.slow
def test_kills_of_a_random_rank_lose_nothing():
    kill_again_and_again(kills=8, world_size=2, seed=200)
