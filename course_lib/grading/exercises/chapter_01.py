"""The exercises of chapter 1, data parallelism: parts of an epoch, averages, overlap, batch normalization and ZeRO."""

from __future__ import annotations

from course_lib.comm.network import Network
from course_lib.grading.exercise import Exercise, Rule
from course_lib.grading.exercises import cases_01 as cases
from course_lib.grading.exercises import diagnoses_01 as say
from course_lib.grading.exercises import diagnoses_01_averages as means
from course_lib.grading.exercises import diagnoses_01_models as models
from course_lib.grading.exercises import diagnoses_01_normalization as norms
from course_lib.grading.exercises.diagnoses import deadlocked, global_collective, no_such_method
from course_lib.grading.exercises.diagnoses_01_numbers import wrong_seconds
from course_lib.grading.exercises.rules_01 import (
    all_reduces,
    leaves_when_ready,
    not_before_it_exists,
    received_in_time,
    shard_bytes,
)

__all__ = ["EXERCISES"]

FAILURES = (global_collective, no_such_method, say.alone, say.empty_rank_left, deadlocked)

PART = Exercise(
    id="01a",
    title="The parts of an epoch",
    function="part",
    points=2,
    cases=cases.parts_of_epochs,
    mode="function",
    answer="return",
    diagnoses=(say.by_value, say.own_shuffle),
    hints=(
        "Deal the examples out like cards: the first to rank 0, the second to rank 1, and so on. Who gets how many?",
        "In Python, order[start::step] takes every step-th element from start on.",
    ),
)

AVERAGE = Exercise(
    id="01b",
    title="The average of uneven parts",
    function="average_gradient",
    points=3,
    cases=cases.averaged_gradients,
    rules=(
        all_reduces(
            lambda case: case.tensor.numel() + 1,
            "let the number of examples travel with the gradient, as one more element",
        ),
    ),
    diagnoses=(*FAILURES, means.not_a_number, means.still_its_own, means.wrong_average),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints=(
        "Undo the mean first: n times the mean over n examples is their sum, and sums may be added.",
        "One message holds both: torch.cat([n * gradient, torch.tensor([float(n)])]). After the all-reduce its last "
        "element is the number of all examples.",
        "A rank without examples holds nan, and 0 * nan is nan. Let it contribute torch.zeros_like(gradient).",
    ),
)

ACCUMULATE = Exercise(
    id="01c",
    title="Gradient accumulation",
    function="accumulate",
    points=2,
    answer="return",
    cases=cases.accumulated_gradients,
    rules=(
        all_reduces(
            lambda case: case.about["length"] + 1,
            "add up the micro-batches on the rank first, that costs nothing; communicate once per step, gradients and "
            "number of examples in one message",
        ),
    ),
    diagnoses=(*FAILURES, means.wrong_accumulation),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints=(
        "What is the sum over all examples of one micro-batch? Add those up, over micro-batches and then over ranks.",
        "sum(n * gradient for n, gradient in zip(examples, gradients)) is a rank's sum. The rest is exercise b.",
    ),
)

OVERLAP = Exercise(
    id="01d",
    title="Overlap",
    function="overlapped_backward",
    points=4,
    cases=cases.layers_becoming_ready,
    clock=True,
    network=Network(latency_s=1e-3, bytes_per_s=1e6),
    rules=(Rule(not_before_it_exists), Rule(leaves_when_ready, costs=3), Rule(received_in_time, costs=2)),
    diagnoses=(*FAILURES, say.wrong_layers),
    perturbation="receiver",
    hints=(
        "The hook must return at once, for the next layer waits for it. Which calls of the communicator do that?",
        "In the hook: an irecv into a fresh buffer and an isend for each other rank. Keep the works and, with their "
        "layer, the buffers, in lists outside the hook. The hook adds nothing.",
        "After backward(...) has returned: wait() for all works, and only then add each buffer to the gradient of its "
        "layer.",
    ),
)

STATISTICS = Exercise(
    id="01e",
    title="Batch statistics with one all-reduce",
    function="joined_statistics",
    points=3,
    answer="return",
    cases=cases.joined_statistics,
    rules=(
        all_reduces(
            lambda case: 2 * (2 * case.tensor.shape[1] + 1),
            "sum, sum of squares and number of examples fit into one message",
        ),
    ),
    diagnoses=(*FAILURES, means.not_a_number, norms.wrong_statistics),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-4,
    hints=(
        "Variances of parts do not add up, sums do. From which sums over all examples can you get mean and variance?",
        "The variance is the mean of the squares, less the square of the mean.",
        "torch.cat([x.sum(0), (x * x).sum(0), torch.tensor([float(len(x))])]) is one message of 2 features + 1 "
        "elements. For a rank without examples the sums are zeros by themselves.",
    ),
)

BACKWARD = Exercise(
    id="01f",
    title="Batch normalization, the way back",
    function="batch_norm_backward",
    points=3,
    answer="return",
    cases=cases.normalized_batches,
    rules=(
        all_reduces(lambda case: 2 * case.about["features"], "both sums fit into one message of 2 features elements"),
    ),
    diagnoses=(*FAILURES, norms.in_float32, norms.wrong_backward),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints=(
        "Which two terms of the formula need the other ranks? Both are means over the joined batch.",
        "Each rank adds up its own rows: upstream.sum(0) and (upstream * normalized).sum(0). Join both with torch.cat, "
        "all-reduce, take them apart again with tensor_split(2) or chunk(2).",
    ),
)

ZERO = Exercise(
    id="01g",
    title="A step of ZeRO, stage 1",
    function="zero_step",
    points=4,
    answer="return",
    cases=cases.sharded_steps,
    rules=(shard_bytes(costs=2),),
    diagnoses=(models.other_chunks, *FAILURES, models.wrong_shard),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints=(
        "Three acts: everybody hands each owner its chunk of the gradient; the owner updates its shard; every owner "
        "hands its chunk of the parameters to everybody.",
        "Chunks from tensor_split are views: what you write into parameters.tensor_split(p)[r], in place, is in "
        "`parameters`. And comm.recv(chunks[r], r) writes straight into it.",
        "For each other rank r: irecv a buffer as long as your own chunk from r, isend gradient chunk r to r; wait for "
        "all; add. For the all-gather: irecv chunk r from r, isend your own chunk to r; wait for all.",
    ),
)

WRONG_WAY = Exercise(
    id="01h",
    title="Find an input that shows the bug",
    function="wrong_way",
    points=2,
    cases=cases.wrong_ways,
    mode="function",
    answer="return",
    hints=(
        "The first step of Adagrad is rate × gradient / |gradient|: of the gradient it keeps the sign. So averaging "
        "parameters takes a vote, one rank one voice.",
        "The mean gradient, on the other hand, listens to who is loudest. Let one rank be very loud.",
    ),
)

MENDED = Exercise(
    id="01i",
    title="Mend the bug",
    function="mended_training",
    points=4,
    cases=cases.runs_with_adagrad,
    rules=(
        all_reduces(
            lambda case: case.about["length"],
            "one for the weights at the start, and one for the gradient in each step",
            count=lambda case: case.about["steps"] + 1,
        ),
    ),
    diagnoses=(*FAILURES, norms.in_float32, models.wrong_training),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints=(
        "There are two bugs. One is in the order of two lines; the other is a line that was never written.",
        "All-reduce the gradient before Adagrad sees it, and leave the weights alone.",
        "What do the ranks begin with? If rank 0's weights must be everybody's: all other ranks set theirs to zero, "
        "and an all-reduce does the rest.",
    ),
)

SECONDS = Exercise(
    id="01j",
    title="What overlap buys",
    function="step_seconds",
    points=3,
    cases=cases.timed_steps,
    mode="function",
    answer="return",
    tolerance=1e-9,
    per_student=True,
    diagnoses=(wrong_seconds,),
    hints=(
        "Draw two rows, compute and wire, and go through the layers in the order of the backward pass: the last first.",
        "An exchange starts when two things are true: its gradient is ready, and the wire is free.",
        "Keep two clocks: ready += backward of this layer; free = max(free, ready) + exchange of this layer.",
    ),
)

EXERCISES = (PART, AVERAGE, ACCUMULATE, OVERLAP, STATISTICS, BACKWARD, ZERO, WRONG_WAY, MENDED, SECONDS)
