"""Some forty small bugs of the kind that people make, over all that the course is made of.

`python -m tests.mutations.plant` plants them in a copy, one after the other. Whoever leaves a test out of
`make test` sees so what it was good for.
"""

from typing import NamedTuple

__all__ = ["BUGS", "Bug"]


class Bug(NamedTuple):
    """One mistake: `old`, which stands once in `file`, becomes `new`.

    Attributes:
        breaks: what is wrong then, in a sentence.
        caught_by: the cheapest test that fails then; a page stands for all its cells.
    """

    id: str
    file: str
    old: str
    new: str
    breaks: str
    caught_by: str


BUGS = [
    Bug(
        "sim_shares_memory",
        "course_lib/comm/simulator/event_loop.py",
        "recv.arrived = send.payload.detach().clone()",
        "recv.arrived = send.payload.detach()",
        "A simulated receiver gets the sender's own memory, so what the sender writes later changes what arrived.",
        "tests/comm/test_simulator.py::test_what_is_sent_stays_as_it_was_whatever_its_sender_writes_before_the_receiver_waits[greenlets]",
    ),
    Bug(
        "emulated_moment",
        "course_lib/comm/transport/emulated.py",
        "at_s = max(begun_s, moment[-1][0])",
        "at_s = begun_s",
        "On slowed links a message may start before its later side has been posted.",
        "tests/comm/test_ties.py::test_no_message_starts_before_both_its_sides_are_posted_in_one_moment_either[0.0-0.05]",
    ),
    Bug(
        "orphans_live_on",
        "course_lib/comm/processes/children.py",
        "        for pid in orphans_of(self._folder, dead) if dead else []:",
        "        for pid in []:",
        "What a dead rank has started in a session of its own outlives it.",
        "tests/comm/test_run.py::test_what_a_rank_has_started_in_a_session_of_its_own_ends_with_it"
        "[by itself-_fork_of_its_own]",
    ),
    Bug(
        "echo_waits",
        "course_lib/comm/transport/runner.py",
        "        if echo and not self.failed:\n"
        "            self.deadline_s = min(self.deadline_s, time.perf_counter() + _GRACE_S)\n",
        "",
        "A rank that only saw its peer vanish is reported after the whole time-out, if the cause does not come.",
        "tests/comm/test_supervisor.py::test_a_cause_that_does_not_come_is_not_waited_for_until_the_time_out",
    ),
    Bug(
        "agent_without_text",
        "course_lib/comm/transport/torchrun.py",
        'text = f"{type(error).__name__}: {text_of(error)}".split("\\n\\n")[0]',
        'text = f"{type(error).__name__}"',
        "The summary of torchrun's agent names the error's type and not its text.",
        "tests/comm/test_torchrun.py::test_torchruns_summary_gets_the_first_lines_of_an_error",
    ),
    Bug(
        "last_node_forgotten",
        "course_lib/collectives/cost.py",
        "np.ceil(world_size / per_node)",
        "np.floor(world_size / per_node)",
        "A hierarchical all-reduce's formula leaves out the last node where it is not full.",
        "tests/collectives/test_cost.py::test_uneven_chunks_cost_at_most_one_element_more_in_each_message[hierarchical-17]",
    ),
    Bug(
        "mean_of_one_chunk",
        "course_lib/collectives/ring.py",
        "    finish(op, flat, comm)\n\n\ndef ring_all_reduce_cost",
        "    finish(op, chunks[comm.rank], comm)\n\n\ndef ring_all_reduce_cost",
        "A ring's mean divides the rank's own chunk only, the other chunks keep the sum.",
        "tests/collectives/test_all_reduce.py::test_every_rank_receives_the_sum[ring-3]",
    ),
    Bug(
        "eval_norm_refused",
        "course_lib/data_parallel/averaging.py",
        "isinstance(part, kinds) and part.training for part",
        "isinstance(part, kinds) for part",
        "A SyncBatchNorm that is not training is refused, too.",
        "tests/data_parallel/test_batch_norm.py::test_uneven_shares_are_refused_in_training_and_allowed_in_evaluation[SyncBatchNorm]",
    ),
    Bug(
        "stage_3_keeps_units",
        "course_lib/data_parallel/zero/stages.py",
        "        self._kept.discard(unit)\n        self._free(unit)",
        "        self._free(unit)",
        "ZeRO's third stage takes a unit for kept after its gradient was reduced.",
        "tests/data_parallel/zero/test_stages.py::test_accumulated_gradients_add_up_and_only_stage_1_sends_them_once",
    ),
    Bug(
        "residual_forgets",
        "course_lib/compression/compressors.py",
        "left_out = wanted - self",
        "left_out = flat - self",
        "Error feedback forgets what earlier messages left out.",
        "tests/compression/test_error_feedback.py::test_sent_and_residual_are_the_sum_of_all_gradients[1-7-one bit]",
    ),
    Bug(
        "half_a_record_stays",
        "course_lib/parameter_server/fault_tolerance/write_ahead_log.py",
        "            self._log.seek(self._log.truncate(whole_bytes))\n            raise",
        "            raise",
        "An append to the write-ahead log that fails leaves half a record behind.",
        "tests/parameter_server/test_write_ahead_log.py::test_a_record_whose_append_failed_is_not_in_the_log_and_the_next_one_is[write]",
    ),
    Bug(
        "halo_gradient_lost",
        "course_lib/model_parallel/halo.py",
        "_cut(mine, rows, has).add_(box)",
        "_cut(mine, rows, has).copy_(box)",
        "Rows that were lent get the borrower's gradient in place of their own plus the borrower's.",
        "tests/model_parallel/test_convolution.py::test_regions_compute_what_one_rank_does[2-(1, 2, 1, 2, 2)]",
    ),
    Bug(
        "unseen_query_is_nan",
        "course_lib/tensor_parallel/split_sequence.py",
        "largest.nan_to_num(neginf=0.0)",
        "largest",
        "A query that has not seen a key yet makes ring attention's result not a number.",
        "tests/tensor_parallel/test_split_sequence.py::test_keys_in_pieces_give_the_same_softmax_even_where_scores_are_huge",
    ),
    Bug(
        "weights_of_no_batch",
        "course_lib/pipeline/schedules.py",
        "range(max(0, micro_batches - delay), micro_batches)",
        "range(micro_batches - delay, micro_batches)",
        "A zero-bubble schedule of few micro-batches computes weight gradients of micro-batches that do not exist.",
        "tests/pipeline/test_schedules.py::test_every_schedule_can_be_carried_out[1-5-ZB-H1]",
    ),
    Bug(
        "stays_anyway_ignored",
        "course_lib/checkpointing/optimum.py",
        "for mode in self._modes(start)",
        "for mode in (GOES,)",
        "The checkpointing search forgets values that are kept anyway.",
        "tests/checkpointing/test_optimum.py::test_a_budget_for_everything_costs_one_run_of_each_layer",
    ),
    Bug(
        "ties_go_up",
        "course_lib/precision/formats.py",
        "count = (magnitude / self.spacing(values)).round()",
        "count = (magnitude / self.spacing(values) + 0.5).floor()",
        "Rounding to a format takes the upper neighbor in a tie, not the even one.",
        "tests/precision/test_formats.py::test_four_bits_by_hand",
    ),
    Bug(
        "cut_budget_too_large",
        "course_lib/decomposition/tensor_train.py",
        "share * norm / max(1, modes - 1) ** 0.5",
        "share * norm / max(1, modes - 2) ** 0.5",
        "A tensor train is cut with a budget for one cut less than it has.",
        "course_lib/decomposition/tensor_train.py::course_lib.decomposition.tensor_train.error_of_a_cut",
    ),
    Bug(
        "one_place_fewer",
        "course_lib/storage/prefetch.py",
        "if batch > depth else 0.0",
        "if batch >= depth else 0.0",
        "A prefetcher of depth n holds one batch less than n.",
        "tests/storage/test_in_time.py::test_a_deeper_queue_hides_one_slow_batch",
    ),
    Bug(
        "copy_of_own_length",
        "course_lib/faults/neighbors.py",
        "before = (self._comm.rank - 1) % self._comm.world_size",
        "before = self._comm.rank",
        "A rank makes room for its neighbor's shard as if it were as long as its own.",
        "tests/faults/test_neighbors.py::test_real_processes_do_the_same",
    ),
    Bug(
        "few_micro_batches",
        "course_lib/mesh/memory.py",
        "return min(micro_batches, p if v == 1 else p * (1 + (p - 1) / (p * v)))",
        "return p if v == 1 else p * (1 + (p - 1) / (p * v))",
        "Memory of a pipeline counts more micro-batches under way than there are.",
        "tests/mesh/test_planner.py::test_four_stages_hold_a_micro_batch_each_more_in_chunks_and_never_more_than_there_are[1-held0]",
    ),
    Bug(
        "packing_costs_nothing",
        "course_lib/scaling/curves.py",
        "setup.compute_s(batches, ranks=2)",
        "setup.compute_s(batches)",
        "The crossover of a compressed system leaves out the time for packing.",
        "tests/scaling/test_scaling.py::test_the_crossover_is_the_first_of_all_numbers_of_ranks[direct]",
    ),
    Bug(
        "ticks_touch",
        "course_lib/draw/units.py",
        "closest = (high / low) ** 0.08",
        "closest = (high / low) ** 0.01",
        "On a logarithmic axis ticks are so close that their labels touch.",
        "tests/draw/test_units.py::test_words_of_a_logarithmic_axis_have_room",
    ),
    Bug(
        "bars_leave_the_axis",
        "course_lib/widgets/mesh.py",
        "[min(max(room, most), 4 * room)]",
        "[room]",
        "The mesh explorer's memory axis ends at what a GPU has, and longer bars run beyond it.",
        "tests/widgets/test_mesh.py::test_the_longest_bar_of_memory_ends_on_the_axis_unless_it_is_four_times_what_a_gpu_has",
    ),
    Bug(
        "resting_control_moves",
        "course_lib/widgets/states.py",
        '    if getattr(control, "disabled", False):\n        return {control.value: shown_value(control)}\n',
        "",
        "In the book a control at rest offers values as if it moved.",
        "tests/widgets/test_states.py::test_places_are_all_that_moves_lead_to_and_each_choice_leads_to_one",
    ),
    Bug(
        "save_key_swallowed",
        "course_lib/widgets/page.js",
        "part.toggleAttribute('data-lm-suppress-shortcuts', !saves);",
        "part.toggleAttribute('data-lm-suppress-shortcuts', true);",
        "Control+S does nothing while an explorer's control has the focus.",
        "tests/browser/test_explorers.py::test_saving_by_key_works_from_within_a_control[AllReduceExplorer]",
    ),
    Bug(
        "play_at_the_end",
        "book/static/explorers.js",
        "if (isLast()) choose(steps, 0);\n      timer",
        "timer",
        "In the book play does nothing when the last step is shown.",
        "tests/browser/test_book_explorers.py::test_the_steps_play_pause_and_go_back_and_the_last_sentence_is_announced",
    ),
    Bug(
        "drawing_not_folded",
        "course_lib/desk/versions.py",
        "if DRAWS in tags or sets_up:",
        "if DRAWS == tags or sets_up:",
        "A desk shows the code of pictures.",
        "tests/desk/test_guesses.py::test_code_that_only_draws_is_folded_on_a_desk_and_counts_as_a_cell_to_run",
    ),
    Bug(
        "louder_downstream",
        "course_lib/grading/judge/perturb.py",
        '        if self.index is None or shown_by != "downstream":\n            return None\n',
        "        if self.index is None:\n            return None\n",
        "A changed message is made louder although only receivers further down could show it.",
        "tests/grading/judge/test_perturb.py::test_where_nobody_shows_it_louder_changes_follow",
    ),
    Bug(
        "shared_futex_passes",
        "course_lib/grading/sandbox/seccomp.py",
        'ARGUMENT_HAS = {"futex": (1, 128)}',
        'ARGUMENT_HAS = {"futex": (1, 129)}',
        "The system-call filter lets wakes of shared futexes pass.",
        "tests/grading/sandbox/test_sandbox.py::test_a_rank_wakes_nobody_but_itself[filter-1-1]",
    ),
    Bug(
        "check_takes_names_away",
        "course_lib/grading/rehearsal/check.py",
        "        theirs.update(before)\n",
        "        pass\n",
        "After a check the notebook lacks names that the answer had used.",
        "tests/grading/rehearsal/test_check.py::test_a_notebook_has_its_own_names_again_after_a_check_with_stand_ins[True]",
    ),
    Bug(
        "tries_always_grow",
        "course_lib/grading/submissions/gradebook.py",
        "old.tries + (old.digest != graded.digest)",
        "old.tries + 1",
        "Grading the same bytes again counts as another try of the student's.",
        "tests/grading/submissions/test_gradebook.py::test_one_exercise_graded_again_leaves_the_others_of_the_same_version",
    ),
    Bug(
        "report_is_markup",
        "course_lib/grading/reports/student.py",
        "<pre>{escape(message)}</pre>",
        "<pre>{message}</pre>",
        "A message that quotes a student's code becomes part of the page's HTML.",
        "tests/grading/reports/test_report.py::test_each_student_has_a_page_with_what_was_asked_what_came_and_a_hint",
    ),
    Bug(
        "empty_reads_unsaid",
        "solutions/exercises/chapter_12/f_reads.py",
        "Leave out files of which the rank reads nothing\n    first < stop -> True",
        "Leave out files of which the rank reads nothing\n    first < stop -> first <= stop",
        "Exercise 12f does not tell an answer that lists files of which a rank reads nothing to leave them out.",
        "tests/grading/test_exercises_12.py::test_the_message_names_what_is_wrong"
        "[12f-_of_every_file-Leave out files of which the rank reads nothing]",
    ),
    Bug(
        "last_turn_free",
        "solutions/exercises/chapter_05/h_ring_attention.py",
        "lambda case: 4 * 2 * len(case.inputs[0][1]) * (case.world_size - 1)",
        "lambda case: 4 * 2 * len(case.inputs[0][1]) * case.world_size",
        "Exercise 05h lets ring attention send its blocks once more than it needs.",
        "tests/grading/test_exercises.py::test_the_check_says_the_same_as_the_judge_and_of_no_two_wrong_answers_the_same[05h]",
    ),
    Bug(
        "worked_in_page_is_ours",
        "course_lib/desk/update.py",
        "known if step.worked_in else [*known, step.fingerprint]",
        "[*known, step.fingerprint]",
        "An update takes a page that the student has worked in for the course's own and overwrites it.",
        "tests/desk/test_update.py::test_work_that_began_in_the_clone_stays_wherever_its_first_desk_was_cut_off",
    ),
    Bug(
        "full_disk_is_success",
        "course_lib/cli/grading.py",
        "    if problem:\n        raise click.ClickException(problem)\n",
        "",
        "course grade ends well although the grades could not be written.",
        "tests/cli/test_grade.py::test_grades_that_cannot_be_written_are_shown_and_the_reason_is_a_sentence",
    ),
    Bug(
        "both_ends_blamed",
        "course_lib/cluster_check/judge.py",
        "common -= {where(rank) for pair in fast for rank in (pair.one, pair.other)} if len(common) > 1 else set()\n",
        "common -= set()\n",
        "Of a single slow link both machines are named as what all slow links share.",
        "tests/cluster_check/test_judges.py::test_one_slow_link_between_machines_whose_others_are_fast_blames_neither_of_them",
    ),
    Bug(
        "notes_come_first",
        "course_lib/cli/symptoms.py",
        "key=lambda match: match.row.cause.startswith(NOTES)",
        "key=lambda match: not match.row.cause.startswith(NOTES)",
        "course symptoms names rows that are mere notes before causes.",
        "tests/cli/test_symptoms.py::test_a_note_is_named_behind_an_error",
    ),
    Bug(
        "too_old_python",
        "Makefile",
        "sys.version_info < (3, 11)",
        "sys.version_info < (3, 10)",
        "make setup takes a Python on which the course does not install.",
        "tests/test_environment.py::test_make_takes_no_python_older_than_the_project_admits",
    ),
    Bug(
        "page_cuts_in_three",
        "notebooks/05_tensor_parallelism.ipynb",
        "rows.chunk(2)]",
        "rows.chunk(3)]",
        "Page 05 cuts a matrix into other parts than its text says, and prints other numbers.",
        "notebooks/05_tensor_parallelism.ipynb",
    ),
    Bug(
        "page_number_wrong",
        "notebooks/00_more.ipynb",
        "33.9 days on 1,024 A100 (computed)",
        "33.6 days on 1,024 A100 (computed)",
        "Page 00 · more shows another number than its cell prints.",
        "notebooks/00_more.ipynb",
    ),
]
