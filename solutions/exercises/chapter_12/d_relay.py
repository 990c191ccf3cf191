"""Exercise 12d: a training that goes from rank to rank and comes out as if it had stayed on one."""

import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, matrix, rank_exercise
from course_lib.grading.exercises.counted import counting, judges_watch


def trainings(rng):
    """Taken over at the beginning of an epoch, in its middle and at its end, once by a rank that has no step to do.

    A rank has other numbers in place of examples that are not taken from its steps on.
    """
    for length, steps in ((9, (4, 7)), (4, (6,)), (4, (4, 5, 6)), (6, (8, 1, 0, 12, 5))):
        rows = matrix(rng, length, 3)
        seeds = rng.permutation(1000)[: len(steps)].tolist()
        while len(steps) == 2 and not _tells_apart(length, *seeds, *steps):
            seeds = rng.permutation(1000)[:2].tolist()
        taken = [example for example, _ in _steps(length, seeds[0], sum(steps))]
        known = [set(taken[sum(steps[:rank]) :]) for rank in range(len(steps))]
        inputs = [
            (_known(rng, rows, known[rank]) if rank else rows, matrix(rng, 3), seed, list(steps))
            for rank, seed in enumerate(seeds)
        ]
        label = f"world_size {len(steps)}, {length} examples, steps {list(steps)}"
        yield Case(len(steps), inputs, (), label=label)


def _known(rng, rows, known):
    """The examples that are known, and others in place of the rest."""
    return torch.stack([row if i in known else row + matrix(rng, 3) for i, row in enumerate(rows)])


def _steps(length, seed, count):
    """Of each step the example that it takes, and which of its three numbers are kept."""
    generator = torch.Generator().manual_seed(seed)
    for step in range(count):
        if step % length == 0:
            order = torch.randperm(length, generator=generator).tolist()
        yield order[step % length], (torch.rand(3, generator=generator) < 0.5).tolist()


def _tells_apart(length, seed, other_seed, first, second):
    """Whether the ranks draw other orders, and a step of the first shows which example it took."""
    done = list(_steps(length, seed, first + second))
    later = [example for example, _ in done[first:]]
    orders = [list(dict(_steps(length, each, length))) for each in (seed, other_seed)]
    return orders[0][first:] != orders[1][first:] and any(
        any(kept) for example, kept in done[:first] if example not in later
    )


def judged_steps(answer):
    """The same relay, or words if it drew more numbers, by whatever operator, than the steps of this rank drop out by."""

    def relay(comm, rows, weights, seed, steps):
        drawn = [0]

        def seen(operator, args, result):
            by_chance = any("nondeterministic_seeded" in str(tag) for tag in operator.tags)
            if by_chance and operator.overloadpacket.__name__ != "randperm":
                drawn[0] += result.numel()

        with judges_watch(seen):
            came = answer(comm, rows, weights, seed, steps)
        count = -(-drawn[0] // len(weights))
        more = count > steps[comm.rank]
        return f"drew the dropout of {count} steps and has {steps[comm.rank]} to do" if more else came

    return relay


def did_steps_again(case, outcome):
    """The steps of the ranks before, done once more."""
    said = next(((rank, value) for rank, value in enumerate(outcome.values) if isinstance(value, str)), None)
    return said and f"rank {said[0]} {said[1]}: it goes on from what the rank before it hands over, and repeats nothing"


MISTAKES = r"""
went on from weights of its own: those that it gets must become the training's
    (training.weights, training.velocity, training.order, taken, drawn):\n            comm.recv( -> (training.weights.clone(), training.velocity, training.order, taken, drawn):\n            comm.recv(
began with no momentum: the velocity belongs to the state
    training.weights, training.velocity, -> training.weights,
drew an order of its own in the middle of an epoch: the order belongs to the state
    training.velocity, training.order, -> training.velocity,
began the epoch's order from its first example: how many are taken belongs to the state
    training.taken = taken.item() -> pass
dropped other numbers: the generator's state belongs to the state
    training.generator.set_state(drawn) -> pass
seeded its generator as at the start: what it draws next depends on all that was drawn since
    answer seeds_again
has the weights and nothing else. What does a step read beside them?
    (training.weights, training.velocity, training.order, taken, drawn) -> (training.weights,)
has weights and velocity, and began an epoch of its own
    (training.weights, training.velocity, training.order, taken, drawn) -> (training.weights, training.velocity)
lacks both the order and the generator's state
    training.velocity, training.order, -> training.velocity,
    training.generator.set_state(drawn) -> pass
lacks both the order and the place in it
    training.velocity, training.order, -> training.velocity,
    training.taken = taken.item() -> pass
was handed what there was before the other's steps: send after them
    answer before_the_steps
trained from its own beginning, with nothing of what the ranks before it had
    comm.rank > 0 -> False
    comm.rank + 1 < comm.world_size -> False
... it goes on from what the rank before it hands over
    answer all_steps_again
or
    answer all_steps_by_uniform
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=trainings,
    dtypes=(torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8),
    rules=(rules.max_messages(lambda case: 8 * (case.world_size - 1)),),
    before=(*FAILURES, did_steps_again),
    mistakes=MISTAKES,
    perturbation=None,  # a changed state of a generator is none
    stand_ins=counting(judged_steps, "relay"),
    hints="""
Read `step` line by line: which attributes does it read that an earlier step has changed?
Five: weights, velocity, order, taken, and what the generator would draw next, generator.get_state(). A whole number travels as torch.tensor([number]).
On rank > 0 make a Training, receive into tensors of the same shapes and dtypes from comm.rank - 1, put all five in place (generator.set_state). Then the steps; then send the five to comm.rank + 1.
""",
)
