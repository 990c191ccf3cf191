"""The picture of a training's lives says in words what it shows."""

import pytest

from course_lib.draw.chapters.faults import draw_lives
from course_lib.faults.experiments import KilledTraining, Life


def test_the_picture_counts_the_steps_that_were_lost():
    lives = [Life(0, 10, 13, False), Life(10, 10, 11, True), Life(10, 40, 40, False)]
    assert draw_lives(KilledTraining(lives, 0, [])).alt == (
        "3 lives came to steps 13, 11, 40; 4 steps were lost. (measured)"
    )
    with pytest.raises(ValueError, match="got none"):
        draw_lives(KilledTraining([], 0, []))
