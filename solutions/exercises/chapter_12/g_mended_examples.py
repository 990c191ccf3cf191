"""Exercise 12g: a training that comes back in the middle of an epoch and goes on in another order, to be mended."""

from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Lives that end in the first epoch and in later ones, at a checkpoint, after it, before the first, at an end."""
    yield from [(4, 1, 2, [3, 6]), (4, 1, 2, [7, 4]), (5, 1, 3, [8])]
    for length, every, lives in ((6, 2, [5, 4]), (7, 3, [2, 10, 8, 9]), (5, 5, [11, 7]), (6, 4, [13, 9, 6])):
        yield length, int(rng.integers(1, 10_000)), every, lives


MISTAKES = r"""
That is what it gave before. Which orders does the generator draw after a restart?
    before, order = generator.getstate(), list(range(length)) -> pass
    saved = before -> saved = generator.getstate()
The second mistake is still there: an epoch shuffles what the one before has shuffled, and after a restart there is none. Shuffle 0, 1, 2, ...
    before, order = generator.getstate(), list(range(length)) -> before = generator.getstate()
The first mistake is still there: in mid-epoch the generator has drawn its order already. Save its state of before the shuffle
    saved = before -> saved = generator.getstate()
A checkpoint at the end of an epoch belongs to the next one: save the state from which its order is drawn, and that is there only then
    before, order = generator.getstate() -> old, before, order = before, generator.getstate()
    saved = before -> saved = before if taken % length else old
Seeding anew gives the first epoch's order in every life
    generator.setstate(saved[0]) -> generator.seed(seed)
    before, taken, order = saved[0] -> before, taken, order = generator.getstate()
That is the training that never dies: what follows a checkpoint is trained on again
    in lives: -> in [sum(lives)]:
After a restart the epoch goes on behind what was taken of it
    saved[1], -> saved[1] // length * length,
Saving the order mends it, too, but shuffled is then not 0, 1, 2, ..., as it was asked for
    answer saves_the_order
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="seven trainings",
    mistakes=MISTAKES,
    hints="""
Print the order whenever it is drawn. Which epoch's is the one that the second life draws first?
The state to save is the one from which this epoch's order was drawn. And what is shuffled in the second epoch, before a restart and after one?
Before each shuffle: before = generator.getstate(); order = list(range(length)). Save before and taken.
""",
)
