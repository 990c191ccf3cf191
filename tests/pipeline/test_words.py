"""Schedules as words: what is written is read back, and what cannot be said is refused."""

import pytest

from course_lib.pipeline import check_schedule, from_words, gpipe, interleaved, one_forward_one_backward, words_of
from course_lib.pipeline import zero_bubble_h1 as split


def test_a_small_case_by_hand() -> None:
    assert words_of(one_forward_one_backward(2, 3)) == ["F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2"]


@pytest.mark.parametrize("make", [gpipe, one_forward_one_backward, split])
@pytest.mark.parametrize("stages", [1, 2, 5])
@pytest.mark.parametrize("micro_batches", [1, 3, 12])
def test_what_is_written_is_read_back(make, stages, micro_batches) -> None:
    schedule = make(stages, micro_batches)
    read = from_words(words_of(schedule), schedule.name)
    assert read == schedule
    check_schedule(read)


def test_what_words_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="a stage a rank, got 4 stages on 2 ranks"):
        words_of(interleaved(2, 2))
    for word in ("G0", "F", "Fx", "B-1"):
        with pytest.raises(ValueError, match=f"got '{word}' on rank 1"):
            from_words(["F0", word])
    for orders in ([], [""]):
        with pytest.raises(ValueError, match="got none"):
            from_words(orders)
