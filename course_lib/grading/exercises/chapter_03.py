"""The exercises of chapter 3, parameter servers: who waits for whom, how old a gradient may be, and what it counts."""

from __future__ import annotations

from course_lib.comm.network import Network
from course_lib.grading import rules
from course_lib.grading.exercise import Exercise, Rule
from course_lib.grading.exercises import diagnoses_03 as say
from course_lib.grading.exercises import diagnoses_03_values as held
from course_lib.grading.exercises.cases_03 import (
    asynchronous,
    backups,
    bounded,
    questions_of_slack,
    shards,
    softsyncs,
    stale,
    whole_reads,
)
from course_lib.grading.exercises.diagnoses_03_numbers import other_rule, other_softsync
from course_lib.grading.exercises.diagnoses_03_old import wrong_rate, wrong_staleness
from course_lib.grading.exercises.diagnoses_03_shards import other_plan
from course_lib.grading.exercises.diagnoses_03_time import came_too_early, held_back, kept_waiting, torn, went_too_far
from course_lib.grading.exercises.rules_03 import asks_at_once, from_both_servers, on_time, protocol_bytes, stale_bytes

__all__ = ["EXERCISES"]

SERVED_RULES = (
    rules.total_bytes(protocol_bytes, "a note and a gradient for each push, one row of parameters for each answer"),
    Rule(on_time),
)

ASYNCHRONOUS = Exercise(
    id="03a",
    title="An asynchronous server",
    function="asynchronous_server",
    points=4,
    cases=asynchronous,
    answer="return",
    rules=SERVED_RULES,
    diagnoses=(*say.SERVED, kept_waiting, held.wrong_contents),
    perturbation="receiver",
    clock=True,
    hints=(
        "comm.recv(note) without a source takes whoever comes first, and returns the sender's rank. That is all the "
        "asynchrony there is.",
        "note.item() is GRADIENT or GOODBYE. After GRADIENT a second message comes from the same worker: take it by "
        "name, comm.recv(gradient, worker). Then subtract, then send the parameters to that worker.",
        "Count the workers that are still here. A goodbye makes them one fewer; at none, return the parameters.",
    ),
)

BACKUPS = Exercise(
    id="03b",
    title="Backup workers",
    function="backup_server",
    points=4,
    cases=backups,
    answer="return",
    rules=SERVED_RULES,
    diagnoses=(
        *say.SERVED,
        kept_waiting,
        held.counted_late,
        held.step_too_many,
        held.fewer_than_asked,
        held.wrong_contents,
    ),
    perturbation="downstream",
    clock=True,
    hints=(
        "The note says on which version the gradient was computed. Compare it with the version that the server has "
        "now: equal, and it belongs to this step; smaller, and it is late.",
        "Keep two things while a step is under way: the sum of its gradients, and the list of workers that wait. When "
        "the list has `take` entries, subtract the sum, count the version up, answer all of the list, empty both.",
        "A late worker is answered at once, with a note of the present version and the present parameters; or with "
        "STOP, when all steps are done. You are done when every worker has been told STOP.",
    ),
)

RULE_OF_SLACK = Exercise(
    id="03c",
    title="May it go on?",
    function="may_go_on",
    points=2,
    cases=questions_of_slack,
    mode="function",
    answer="return",
    diagnoses=(other_rule,),
    hints=(
        "How many gradients is this worker ahead of the slowest one? min(clocks) is the slowest.",
        "It may be ahead by slack, and no more: at slack + 1 it waits.",
    ),
)

BOUNDED = Exercise(
    id="03d",
    title="A server with slack",
    function="bounded_server",
    points=4,
    cases=bounded,
    answer="return",
    rules=SERVED_RULES,
    diagnoses=(
        say.left_counts,
        say.slowest_waits,
        *say.SERVED,
        went_too_far,
        held_back,
        held.wrong_contents,
    ),
    perturbation="receiver",
    clock=True,
    hints=(
        "Begin with your asynchronous server, and change one thing: a worker whose gradient has come goes into a list "
        "of those who wait.",
        "Then, after each message, look through the whole list: whoever may go on by may_go_on(clocks, worker, slack) "
        "is answered with the present parameters, and leaves the list. (Walk over a copy of it: list(waiting).)",
        "clocks = [math.inf] + [0] * (comm.world_size - 1) has an entry for every rank, the server's at infinity. A "
        "worker that says goodbye gets infinity, too: nobody waits for it any more.",
    ),
)

STALE = Exercise(
    id="03e",
    title="Old gradients count less",
    function="staleness_aware",
    points=4,
    cases=stale,
    answer="return",
    rules=(
        rules.total_bytes(stale_bytes, "one row and a number or two each way, for each gradient", costs=1),
        Rule(on_time),
    ),
    diagnoses=(
        say.version_0_is_no_goodbye,
        *say.SERVED,
        say.zero_staleness,
        held.one_answer_for_all,
        came_too_early,
        wrong_staleness,
        wrong_rate,
        kept_waiting,
        held.wrong_contents,
    ),
    perturbation=None,
    clock=True,
    hints=(
        "Each answer is two messages: a note with the server's version, then the parameters. The worker keeps the "
        "version and sends it back as the note before its next gradient. Any negative number can mean goodbye.",
        "When a gradient comes: staleness = version - note.item(), where version is the server's before this update. "
        "Then subtract rate / max(staleness, 1) * gradient, and count the version up.",
        "Check with your finger: one worker alone always has staleness 0. Two workers that take turns have 1.",
    ),
)

SHARDS = Exercise(
    id="03f",
    title="Shards by size",
    function="shard_by_size",
    points=3,
    cases=shards,
    mode="function",
    answer="return",
    diagnoses=(other_plan,),
    hints=(
        "Big stones first, sand afterwards: sorted(range(len(lengths)), key=lambda number: -lengths[number]) gives the "
        "tensors' numbers, the biggest first.",
        "Keep a list of loads, one for each server. The emptiest server is loads.index(min(loads)).",
        "Put the tensor's number, not its length, into the plan; add its length to the load. Each server's list may be "
        "in any order, as long as it is the same for the same lengths.",
    ),
)

TORN = Exercise(
    id="03g",
    title="The torn read",
    function="whole_reads",
    points=4,
    cases=whole_reads,
    answer="return",
    rules=(Rule(from_both_servers), Rule(asks_at_once)),
    diagnoses=(say.asked_too_early, *say.READ_FAILURES, torn),
    perturbation=None,
    clock=True,
    network=Network(latency_s=0.05, bytes_per_s=1e9),
    hints=(
        "pull(comm, server, part) returns the version of what it wrote into `part`. Two versions that differ are a "
        "torn read. Two that are equal are a whole one, for a version never changes.",
        "One way: while the versions differ, pull again from the server that is behind. It must be a loop: the other "
        "server may be behind by then.",
        "Another way: servers remember. pull(comm, server, part, version) asks for an old version: ask the server "
        "that is ahead for what the other one has. Once is enough. Why?",
    ),
)

MENDED = Exercise(
    id="03h",
    title="Find the bug",
    function="mended_server",
    points=2,
    cases=asynchronous,
    answer="return",
    rules=SERVED_RULES,
    diagnoses=(*say.SERVED, held.lost_updates, kept_waiting, held.wrong_contents),
    perturbation="receiver",
    clock=True,
    hints=(
        "Take 2 workers and write down what sent[1] and sent[2] hold after each of the gradients a, b, a.",
        "There are as many sets of parameters here as there are workers. How many should there be?",
    ),
)

SOFTSYNC = Exercise(
    id="03i",
    title="The numbers of n-softsync",
    function="softsync_numbers",
    points=3,
    cases=softsyncs,
    mode="function",
    answer="return",
    tolerance=1e-9,
    per_student=True,
    diagnoses=(other_softsync,),
    hints=(
        "30 workers and n = 4: a server that updates after every ⌊30/4⌋ = 7 gradients. Of 1,000 gradients, how many "
        "full sevens?",
        "While a worker computes one gradient, the others push workers - 1 gradients on average, however fast or slow "
        "they are. How many updates do those make?",
    ),
)

EXERCISES = (ASYNCHRONOUS, BACKUPS, RULE_OF_SLACK, BOUNDED, STALE, SHARDS, TORN, MENDED, SOFTSYNC)
