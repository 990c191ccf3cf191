"""Exercise 06b: the schedule 1F1B."""

from course_lib.grading.exercises.common import function_exercise, two_factors


def sizes(rng):
    """Stages and micro-batches; once with fewer micro-batches than stages."""
    yield from ((3, 5), (1, 2), (4, 2))
    yield from (two_factors(rng, 200, 2000, most=4000) for _ in range(4))


MISTAKES = r"""
That is GPipe's order: after the first B, one B and one F take turns
    min(stages - rank, micro_batches) -> micro_batches
    B{number} -> B{micro_batches - 1 - number}
All F before all B holds every micro-batch: one B and one F take turns
    min(stages - rank, micro_batches) -> micro_batches
One micro-batch at a time leaves the other ranks idle: begin with more than one F
    min(stages - rank, micro_batches) -> 1
The last rank would do B0 before F0: every rank begins with one F more
    stages - rank, -> stages - rank - 1,
One F too many at the beginning: B comes first when they take turns
    stages - rank, -> stages - rank + 1,
Micro-batches are numbered from 0
    return schedule -> return [[f"{word[0]}{int(word[1:]) + 1}" for word in words] for words in schedule]
A rank's words stand in a list, each by itself: ["F0", "B0"]
    schedule.append(words) -> schedule.append(" ".join(words))
Micro-batches go back in the order in which they went forward
    begun = min -> held, begun = [], min
    for number in range(begun)] -> for number in range(begun) if held.append(number) is None]
    B{number} -> B{held.pop()}
    begun += 1 -> held.append(begun)\n                begun += 1
Not every rank begins with so many F: from rank r on there are stages - r stages
    stages - rank, -> stages,
Rank 0 waits longest for its first B, so it begins with the most F, and the last rank with one
    stages - rank, -> rank + 1,
There are not always so many micro-batches: see how many F there can be at all
    min(stages - rank, micro_batches) -> stages - rank
When no F is left there are still B to do
    words.append(f"B{number}") -> words += [f"B{number}"] * (begun < micro_batches)
"""

EXERCISE = function_exercise(
    __name__,
    calls=sizes,
    label="orders of 1F1B",
    mistakes=MISTAKES,
    hints="""
How many micro-batches can be on their way between rank r and the end of the pipe? One for each stage.
Rank r begins with stages - r forward passes, or with all there are if that is fewer.
After those: for each micro-batch i do B i, and then the next F if one is left.
""",
)
