"""Exercise 10b: step, speed-up and efficiency with a fixed batch and with one that grows, and with overlap."""

from course_lib.grading.exercises.common import function_exercise


def clusters(rng):
    """Both policies, on one rank and on more, with an all-reduce that hides wholly, in part, or hardly."""
    yield from [(12, 3, 16, 16, 4, "strong"), (12, 3, 16, 16, 4, "weak")]
    yield from [(9, 3, 40, 8, 1, "strong"), (9, 3, 40, 8, 1, "weak")]
    yield from [(10, 3, 1, 8, 2, "strong"), (10, 3, 1, 4, 2, "weak")]  # whose thirds are no whole numbers
    for policy in ("strong", "weak"):
        for ranks, max_share in ((2, 0.4), (8, 2.0), (5, 1.2), (16, 6.0)):
            fixed, example, each = 3 * int(rng.integers(2, 9)), 3 * int(rng.integers(1, 4)), int(rng.integers(2, 9))
            batch = each * ranks + (ranks == 5) * int(rng.integers(1, 5)) if policy == "strong" else each
            wire = max(1, round(max_share * (fixed + each * example) * (0.5 + 0.5 * rng.random()) / 2))
            yield fixed, example, wire, batch, ranks, policy


MISTAKES = r"""
The all-reduce hides behind the backward pass: of the two only the longer one counts
    compute_ms / 3 + max(compute_ms * 2 / 3, ring_ms) -> compute_ms + ring_ms
It cannot begin in the forward pass: there are no gradients yet
    compute_ms / 3 + max(compute_ms * 2 / 3, -> max(compute_ms,
The backward pass is two thirds of the compute, the forward pass one
    compute_ms / 3 + max(compute_ms * 2 / 3, -> compute_ms * 2 / 3 + max(compute_ms / 3,
or
    compute_ms / 3 + max(compute_ms * 2 / 3, -> compute_ms / 2 + max(compute_ms / 2,
What is fixed does not get shorter: only the examples are shared out
    fixed_ms + each -> fixed_ms * each / batch + each
A ring takes 2 (n - 1)/n times wire_ms, and on one rank nothing
    2 * (ranks - 1) -> (ranks - 1)
or
    2 * (ranks - 1) / ranks -> 2
With a batch that grows, n ranks do n times the work of one: the speed-up is n times as large
    alone_ms *= ranks -> pass
With a fixed batch n ranks together do the work of one, in a shorter time
    policy == "weak" -> True
One rank alone takes n steps of its own batch, each with the fixed part
    alone_ms *= ranks -> alone_ms += (ranks - 1) * batch * example_ms
Efficiency is the speed-up divided by the number of ranks
    step_ms / ranks] -> step_ms]
Efficiency is a share of 1, no percentage
    step_ms / ranks] -> step_ms / ranks * 100]
First the speed-up, then the efficiency
    alone_ms / step_ms, alone_ms / step_ms / ranks] -> alone_ms / step_ms / ranks, alone_ms / step_ms]
A fixed batch is "strong", one that grows with the ranks is "weak"
    policy == "strong" -> policy == "weak"
    if policy == "weak":\n -> if policy == "strong":\n
With a fixed batch each rank has batch / ranks examples
    batch / ranks if policy == "strong" else batch -> batch
Take the fraction batch / ranks as it is: `//` drops examples
    batch / ranks -> batch // ranks
With a batch that grows each rank has all of `batch`
    batch / ranks if policy == "strong" else batch -> batch / ranks
Nine digits are compared: do not round
    return [step_ms, alone_ms / step_ms, alone_ms / step_ms / ranks] -> return [round(x, 6) for x in (step_ms, alone_ms / step_ms, alone_ms / step_ms / ranks)]
or
    return [step_ms, alone_ms / step_ms, alone_ms / step_ms / ranks] -> return [round(x, 3) for x in (step_ms, alone_ms / step_ms, alone_ms / step_ms / ranks)]
"""

EXERCISE = function_exercise(
    __name__,
    calls=clusters,
    label="two policies on 1 to 16 ranks",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
How many examples has one rank? Its compute is fixed_ms + that number · example_ms.
step = compute / 3 + max(compute · 2 / 3, all-reduce), the all-reduce 2 (n - 1)/n · wire_ms.
alone = fixed_ms + batch · example_ms. Strong: alone / step. Weak: ranks · alone / step. Divide by ranks.
""",
)
