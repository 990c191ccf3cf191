"""Forty small bugs of the kind that people make, over all that the course is made of.

`python -m tests.mutations.plant` plants them in a copy, one after the other. Whoever leaves a test out of
`make test` sees so what it was good for.
"""

from typing import NamedTuple

__all__ = ["BUGS", "Bug"]


class Bug(NamedTuple):
    """One mistake: `old`, which stands once in `file`, becomes `new`.

    Attributes:
        breaks: what is wrong then, in a sentence.
        caught_by: the cheapest test that fails then, if one was looked for; of a doctest its file, of a page its cell.
    """

    id: str
    file: str
    old: str
    new: str
    breaks: str
    caught_by: str = ""


BUGS = [
    Bug(
        "sim_shares_memory",
        "course_lib/comm/simulator/event_loop.py",
        "recv.arrived = send.payload.detach().clone()",
        "recv.arrived = send.payload.detach()",
        "A simulated receiver gets the sender's own memory, so what the sender writes later changes what arrived.",
        "",
    ),
    Bug(
        "emulated_moment",
        "course_lib/comm/transport/emulated_network.py",
        "at_s = max(begun_s, moment[-1][0])",
        "at_s = begun_s",
        "On slowed links a message may start before its later side has been posted.",
        "",
    ),
    Bug(
        "orphans_live_on",
        "course_lib/comm/processes/family.py",
        "        for pid in left_by(self._folder, dead) if dead else []:",
        "        for pid in []:",
        "What a dead rank has started outlives it.",
        "",
    ),
    Bug(
        "echo_waits",
        "course_lib/comm/transport/supervisor.py",
        "        if echo and not self.failed:\n"
        "            self.deadline_s = min(self.deadline_s, time.perf_counter() + _GRACE_S)\n",
        "",
        "A rank whose peer has failed waits for the whole time-out before it is said.",
        "",
    ),
    Bug(
        "agent_without_text",
        "course_lib/comm/torchrun.py",
        'text = f"{type(error).__name__}: {text_of(error)}".split("\\n\\n")[0]',
        'text = f"{type(error).__name__}"',
        "The summary of torchrun's agent names the error's type and not its text.",
        "",
    ),
    Bug(
        "last_node_forgotten",
        "course_lib/collectives/cost.py",
        "np.ceil(world_size / per_node)",
        "np.floor(world_size / per_node)",
        "A hierarchical all-reduce's formula leaves out the last node where it is not full.",
        "",
    ),
    Bug(
        "mean_of_one_chunk",
        "course_lib/collectives/ring.py",
        "    finish(op, flat, comm)\n\n\ndef ring_all_reduce_cost",
        "    finish(op, chunks[comm.rank], comm)\n\n\ndef ring_all_reduce_cost",
        "A ring's mean divides the rank's own chunk only, the other chunks keep the sum.",
        "",
    ),
    Bug(
        "eval_norm_refused",
        "course_lib/data_parallel/averaging.py",
        "isinstance(part, kinds) and part.training for part",
        "isinstance(part, kinds) for part",
        "A SyncBatchNorm that is not training is refused, too.",
        "",
    ),
    Bug(
        "stage_3_keeps_units",
        "course_lib/data_parallel/zero/stages.py",
        "        self._kept.discard(unit)\n        self._free(unit)",
        "        self._free(unit)",
        "ZeRO's third stage takes a unit for kept after its gradient was reduced.",
        "",
    ),
    Bug(
        "residual_forgets",
        "course_lib/compression/error_feedback.py",
        "left_out = wanted - self",
        "left_out = flat - self",
        "Error feedback forgets what earlier messages left out.",
        "",
    ),
    Bug(
        "half_a_record_stays",
        "course_lib/parameter_server/fault_tolerance/write_ahead_log.py",
        "            self._log.seek(self._log.truncate(whole_bytes))\n            raise",
        "            raise",
        "An append to the write-ahead log that fails leaves half a record behind.",
        "",
    ),
    Bug(
        "halo_gradient_lost",
        "course_lib/model_parallel/halo.py",
        "_cut(mine, rows, has).add_(box)",
        "_cut(mine, rows, has).copy_(box)",
        "Rows that were lent get the borrower's gradient in place of their own plus the borrower's.",
        "",
    ),
    Bug(
        "unseen_query_is_nan",
        "course_lib/tensor_parallel/split_sequence.py",
        "largest.nan_to_num(neginf=0.0)",
        "largest",
        "A query that has not seen a key yet makes ring attention's result not a number.",
        "",
    ),
    Bug(
        "weights_of_no_batch",
        "course_lib/pipeline/schedules.py",
        "range(max(0, micro_batches - delay), micro_batches)",
        "range(micro_batches - delay, micro_batches)",
        "A zero-bubble schedule of few micro-batches computes weight gradients of micro-batches that do not exist.",
        "",
    ),
    Bug(
        "stays_anyway_ignored",
        "course_lib/checkpointing/optimum.py",
        "for mode in self._modes(start)",
        "for mode in (GOES,)",
        "The checkpointing search forgets values that are kept anyway.",
        "",
    ),
    Bug(
        "ties_go_up",
        "course_lib/precision/formats.py",
        "count = (magnitude / self.spacing(values)).round()",
        "count = (magnitude / self.spacing(values) + 0.5).floor()",
        "Rounding to a format takes the upper neighbor in a tie, not the even one.",
        "",
    ),
    Bug(
        "cut_budget_too_large",
        "course_lib/decomposition/tensor_train.py",
        "share * norm / max(1, modes - 1) ** 0.5",
        "share * norm / max(1, modes - 2) ** 0.5",
        "A tensor train is cut with a budget for one cut less than it has.",
        "",
    ),
    Bug(
        "one_place_fewer",
        "course_lib/storage/prefetch.py",
        "if batch > depth else 0.0",
        "if batch >= depth else 0.0",
        "A prefetcher of depth n holds one batch less than n.",
        "",
    ),
    Bug(
        "copy_of_own_length",
        "course_lib/faults/neighbors.py",
        "before = (self._comm.rank - 1) % self._comm.world_size",
        "before = self._comm.rank",
        "A rank makes room for its neighbor's shard as if it were as long as its own.",
        "",
    ),
    Bug(
        "few_micro_batches",
        "course_lib/mesh/memory.py",
        "return min(micro_batches, p if v == 1 else p * (1 + (p - 1) / (p * v)))",
        "return p if v == 1 else p * (1 + (p - 1) / (p * v))",
        "Memory of a pipeline counts more micro-batches under way than there are.",
        "",
    ),
    Bug(
        "packing_costs_nothing",
        "course_lib/scaling/curves.py",
        "setup.compute_s(batches, ranks=2)",
        "setup.compute_s(batches)",
        "The crossover of a compressed system leaves out the time for packing.",
        "",
    ),
    Bug(
        "ticks_touch",
        "course_lib/draw/units.py",
        "closest = (high / low) ** 0.08",
        "closest = (high / low) ** 0.01",
        "On a logarithmic axis ticks are so close that their labels touch.",
        "",
    ),
    Bug(
        "bars_leave_the_axis",
        "course_lib/widgets/mesh/panels.py",
        "[min(max(room, most), 4 * room)]",
        "[room]",
        "The mesh explorer's memory axis ends at what a GPU has, and longer bars run beyond it.",
        "",
    ),
    Bug(
        "resting_control_moves",
        "course_lib/widgets/states.py",
        '    if getattr(control, "disabled", False):\n        return {control.value: shown_value(control)}\n',
        "",
        "In the book a control at rest offers values as if it moved.",
        "",
    ),
    Bug(
        "save_key_swallowed",
        "course_lib/widgets/page.js",
        "part.toggleAttribute('data-lm-suppress-shortcuts', !saves);",
        "part.toggleAttribute('data-lm-suppress-shortcuts', true);",
        "Control+S does nothing while an explorer's control has the focus.",
        "",
    ),
    Bug(
        "play_at_the_end",
        "book/static/explorers.js",
        "if (isLast()) choose(steps, 0);\n      timer",
        "timer",
        "In the book play does nothing when the last step is shown.",
        "",
    ),
    Bug(
        "claims_not_folded",
        "book/folds.py",
        'cell["hide_mode"] = "all"',
        'cell["hide_mode"] = "output"',
        "The book shows the code of claims.",
        "",
    ),
    Bug(
        "louder_downstream",
        "course_lib/grading/judge/perturb.py",
        '        if self.index is None or shown_by != "downstream":\n            return None\n',
        "        if self.index is None:\n            return None\n",
        "A changed message is made louder although only receivers further down could show it.",
        "",
    ),
    Bug(
        "shared_futex_passes",
        "course_lib/grading/sandbox/seccomp.py",
        'ARGUMENT_HAS = {"futex": (1, 128)}',
        'ARGUMENT_HAS = {"futex": (1, 129)}',
        "The system-call filter lets wakes of shared futexes pass.",
        "",
    ),
    Bug(
        "check_takes_names_away",
        "course_lib/grading/rehearsal/check.py",
        "        theirs.update(before)\n",
        "        pass\n",
        "After a check the notebook lacks names that the answer had used.",
        "",
    ),
    Bug(
        "tries_always_grow",
        "course_lib/grading/submissions/gradebook.py",
        "old.tries + (old.digest != graded.digest)",
        "old.tries + 1",
        "Grading the same bytes again counts as another try of the student's.",
        "",
    ),
    Bug(
        "report_is_markup",
        "course_lib/grading/reports/student.py",
        "<pre>{escape(message)}</pre>",
        "<pre>{message}</pre>",
        "A message that quotes a student's code becomes part of the page's HTML.",
        "",
    ),
    Bug(
        "empty_reads_unsaid",
        "solutions/exercises/chapter_12/f_reads.py",
        "Leave out files of which the rank reads nothing\n    first < stop -> True",
        "Leave out files of which the rank reads nothing\n    first < stop -> first <= stop",
        "Exercise 12f says of an answer with one kind of empty read that it has others.",
        "",
    ),
    Bug(
        "last_turn_free",
        "solutions/exercises/chapter_05/h_ring_attention.py",
        "lambda case: 4 * 2 * len(case.inputs[0][1]) * (case.world_size - 1)",
        "lambda case: 4 * 2 * len(case.inputs[0][1]) * case.world_size",
        "Exercise 05h lets ring attention send its blocks once more than it needs.",
        "",
    ),
    Bug(
        "worked_in_page_is_ours",
        "course_lib/desk/update.py",
        "known if step.worked_in else [*known, step.fingerprint]",
        "[*known, step.fingerprint]",
        "An update takes a page that the student has worked in for the course's own and overwrites it.",
        "",
    ),
    Bug(
        "full_disk_is_success",
        "course_lib/cli/grade.py",
        "    if problem:\n        raise click.ClickException(problem)\n",
        "",
        "course grade ends well although the grades could not be written.",
        "",
    ),
    Bug(
        "both_ends_blamed",
        "course_lib/cluster_check/judge_speed.py",
        "common -= {where(rank) for pair in fast for rank in (pair.one, pair.other)} if len(common) > 1 else set()\n",
        "common -= set()\n",
        "Of a single slow link both machines are named as what all slow links share.",
        "",
    ),
    Bug(
        "notes_come_first",
        "course_lib/cli/symptom_rank.py",
        "key=lambda match: match.row.cause.startswith(NOTES)",
        "key=lambda match: not match.row.cause.startswith(NOTES)",
        "course symptoms names rows that are mere notes before causes.",
        "",
    ),
    Bug(
        "too_old_python",
        "Makefile",
        "sys.version_info < (3, 11)",
        "sys.version_info < (3, 10)",
        "make setup takes a Python on which the course does not install.",
        "",
    ),
    Bug(
        "page_cuts_in_three",
        "notebooks/05_tensor_parallelism.ipynb",
        "rows.chunk(2)]",
        "rows.chunk(3)]",
        "Page 05 cuts a matrix into other parts than its text says, and prints other numbers.",
        "",
    ),
    Bug(
        "page_number_wrong",
        "notebooks/00_orientation.ipynb",
        "2.8 TB of model states (computed)",
        "2.6 TB of model states (computed)",
        "Page 00 shows another number than its cell prints.",
        "",
    ),
]
