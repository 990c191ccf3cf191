"""What chapter 11's solutions have in common with the library."""

import numpy as np
import pytest

from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of
from course_lib.storage.caches import KeepFirst, LeastRecentlyUsed, count_misses


@pytest.mark.parametrize(("policy", "cache"), [("lru", LeastRecentlyUsed), ("keep", KeepFirst)])
def test_the_solution_misses_what_the_librarys_cache_misses(policy, cache):
    misses, rng = function_of(find("11d")), np.random.default_rng(11)
    for places in (1, 4, 9):
        epochs = [rng.integers(0, 9, 14).tolist() for _ in range(3)]
        assert misses(epochs, places, policy) == count_misses(cache(places), epochs)
