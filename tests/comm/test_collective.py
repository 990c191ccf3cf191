"""Collectives say what they are: another order is refused though shapes agree, and a table says who began what."""

import functools
import inspect

import pytest
import torch

from course_lib import DeadlockError, MismatchError, Network, RankError, RankTimeoutError, run, simulate
from course_lib.collectives import ALL_REDUCES, all_gather, broadcast, ring_all_reduce
from course_lib.comm.collective import Calls, CollectiveProgress, Label, agree, progress_of
from course_lib.comm.source_location import locate
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.log import Log, merge

EXECUTORS = {
    "simulated": simulate,
    "on greenlets": functools.partial(simulate, ranks="greenlets"),
    "measured": run,
    "emulated": functools.partial(run, network=Network(latency_s=1e-3, bytes_per_s=1e8)),
}


@pytest.fixture(params=EXECUTORS)
def execute(request):
    return EXECUTORS[request.param]


def in_order(comm, orders, how="all_reduce"):
    for name in orders[comm.rank]:
        if how == "all_reduce":
            ring_all_reduce(comm, torch.ones(2), name=name)
        elif how == "started":
            comm.start(ring_all_reduce, torch.ones(2), name=name).wait()
        elif comm.rank < 2:
            ring_all_reduce(comm.group([0, 1]), torch.ones(2), name=name)


@pytest.mark.parametrize("how", ["all_reduce", "started", "grouped"])
def test_another_order_is_refused_with_both_names_and_lines(execute, how):
    with pytest.raises(MismatchError) as refused:
        execute(in_order, 3, args=([["a", "b"], ["b", "a"], ["b", "a"]], how))
    said, error = str(refused.value), refused.value
    assert {error.sent, error.expected} == {'ring_all_reduce of "a"', 'ring_all_reduce of "b"'}
    first = inspect.getsourcelines(in_order)[1]
    line = first + {"all_reduce": 3, "started": 5, "grouped": 7}[how]
    assert said.count(f"{__file__}, line {line}") == 2
    assert "in the same order" in said


@pytest.mark.parametrize("names", [["a", "b"], ["a", ""], ["", ""]])
def test_the_same_order_passes_and_a_name_on_one_side_only_is_no_other_one(execute, names):
    report = execute(in_order, 2, args=([["a", "b"], names],))
    assert [(rank.begun, rank.ended) for rank in report.collectives] == [(2, 2)] * 2
    assert report.trace.total_bytes == execute(in_order, 2, args=([["", ""]] * 2,)).trace.total_bytes


def test_two_kinds_of_one_shape_are_refused(execute):
    def program(comm):
        tensor, whole = torch.ones(1), [torch.ones(1) for _ in range(2)]
        ring_all_reduce(comm, torch.ones(2)) if comm.rank else all_gather(comm, whole, tensor)

    with pytest.raises(MismatchError) as refused:
        execute(program, 2)
    assert {refused.value.sent, refused.value.expected} == {"ring_all_reduce", "all_gather"}


def test_a_program_names_collectives_of_its_own_and_plain_messages_meet_any(execute):
    def program(comm, names):
        with comm.collective("pass on", names[comm.rank]):
            sent = comm.isend(torch.ones(1), (comm.rank + 1) % 2)
        comm.recv(torch.empty(1), (comm.rank - 1) % 2)  # in no collective: it agrees with all
        sent.wait()

    assert execute(program, 2, args=(["a", "a"],)).collectives[1][1:3] == (1, 1)
    execute(program, 2, args=(["a", "b"],))


def test_of_collectives_inside_each_other_the_outermost_counts(execute):
    def program(comm):
        with comm.collective("step"):
            ring_all_reduce(comm, torch.ones(2), name=f"of rank {comm.rank}")
            comm.barrier()

    report = execute(program, 2)
    assert [(call.kind, call.name) for call in report.trace.collectives] == [("step", "")] * 2


def test_a_barrier_counts_and_meets_one_that_is_inside_a_collective(execute):
    def program(comm):
        if comm.rank:
            comm.barrier()
        else:
            with comm.collective("save"):
                comm.barrier()

    assert [rank.last for rank in execute(program, 2).collectives] == ["save", "barrier"]


def test_groups_may_be_in_two_collectives_at_a_time(execute):
    def program(comm):
        row = comm.group([0, 1] if comm.rank < 2 else [2, 3])
        ring_all_reduce(row, torch.ones(2), name=f"row {comm.rank // 2}")

    last = [rank.last for rank in execute(program, 4).collectives]
    assert last == [f'ring_all_reduce of "row {row}"' for row in (0, 0, 1, 1)]


@pytest.mark.parametrize("name", ALL_REDUCES)
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_every_all_reduce_says_what_it_is_and_is_counted_once(name, ranks):
    report = simulate(lambda comm: ALL_REDUCES[name](comm, torch.ones(4), name="x"), ranks)
    assert [(rank.begun, rank.last) for rank in report.collectives] == [(1, f'{ALL_REDUCES[name].__name__} of "x"')] * (
        ranks
    )


def test_one_rank_alone_begins_and_ends_collectives_without_a_message(execute):
    report = execute(lambda comm: ring_all_reduce(comm, torch.ones(2)), 1)
    assert report.collectives[0][:4] == (0, 1, 1, "ring_all_reduce")
    assert not report.trace.messages


def test_a_collective_that_raised_has_not_ended_and_those_after_it_are_counted_right(execute):
    def program(comm):
        for dtype in (torch.float32, torch.bool, torch.float32):
            try:
                ring_all_reduce(comm, torch.ones(2, dtype=dtype))
            except TypeError:
                pass

    report = execute(program, 2)
    assert [rank[1:3] for rank in report.collectives] == [(3, 2)] * 2
    assert [call.ended_s is None for call in report.trace.collectives] == [False, True, False] * 2


def test_the_table_of_an_error_has_what_started_functions_began(execute):
    def program(comm):
        for number in range(1 + (comm.rank == 0)):
            comm.start(ring_all_reduce, torch.ones(1), name=str(number)).wait()

    with pytest.raises(DeadlockError, match="fewest collectives begun: 1, by rank 1; most: 2") as stopped:
        execute(program, 2)
    assert [rank[1:4] for rank in stopped.value.collectives] == [
        (2, 1, 'ring_all_reduce of "1"'),
        (1, 1, 'ring_all_reduce of "0"'),
    ]


def test_a_time_out_and_a_rank_that_raised_have_the_table_too():
    def program(comm, fails):
        comm.barrier()
        if comm.rank:
            ring_all_reduce(comm, torch.ones(1))
        while not fails:
            pass
        raise RuntimeError("no more")

    with pytest.raises(RankTimeoutError, match="fewest collectives begun: 1, by rank 0; most: 2") as late:
        run(program, 2, args=(False,), timeout_s=3)
    assert [rank[1:3] for rank in late.value.collectives] == [(1, 1), (2, 1)]
    with pytest.raises(RankError) as failed:
        run(program, 2, args=(True,))
    assert failed.value.collectives[0].begun == 1


def test_long_names_that_differ_at_their_end_differ():
    names = [["x" * 200 + "a"], ["x" * 200 + "b"]]
    for execute in (simulate, run):
        with pytest.raises(MismatchError, match="two collectives"):
            execute(in_order, 2, args=(names,))


@pytest.mark.parametrize(("kind", "name"), [("", "a"), (3, "a"), ("sum", None)])
def test_what_is_no_text_is_refused(kind, name):
    with pytest.raises(RankError, match="are texts, got"):
        simulate(lambda comm: comm.collective(kind, name), 1)


def test_agreement_asks_for_the_kind_and_for_names_where_both_have_one():
    a, b, plain, other = Label("sum", "a"), Label("sum", "b"), Label("sum"), Label("max", "a")
    assert all(
        agree(*pair) for pair in [(a, Label("sum", "a")), (a, plain), (plain, b), (None, a), (a, Label("barrier"))]
    )
    assert not any(agree(*pair) for pair in [(a, b), (a, other), (plain, other)])


def test_where_there_is_no_board_the_logs_are_compared_at_the_end():
    logs = [Log(), Log()]
    for log, kind, peer, name in ((logs[0], "send", 1, "a"), (logs[1], "recv", 0, "b")):
        log.post(kind, peer, torch.ones(1), 0.0, locate(), (), Label("sum", name))
    with pytest.raises(MismatchError, match='rank 0, in sum of "a", sends to 1'):
        merge(logs, 1.0)


def test_the_board_names_the_last_sixteen_collectives(tmp_path):
    (tmp_path / "board").write_bytes(bytes(Board.file_bytes(2)))
    board = Board(tmp_path / "board", 2)
    for number in range(17):
        board.begin_collective(0, number, f"sum {number}", locate())
        board.end_collective(0)
    board.begin_collective(0, 17, "sum 17", locate())
    assert board.progress(0)[:4] == (0, 18, 17, "sum 17")
    assert board.progress(1) == CollectiveProgress(1, 0, 0)
    for kind, rank, peer, code, collective in (("send", 0, 1, 1 << 32, 0), ("recv", 1, 0, 2 << 32, 0)):
        board.post(kind, rank, peer, 0, "float32", locate(), 0, code, collective)
    assert "rank 0, in another collective, sends to 1" in str(board.mismatch())
    board.close()


def test_progress_shows_the_collective_that_a_rank_is_in_else_the_last_one():
    calls = Calls()
    for name, at_s in (("a", 0.0), ("b", 0.0), ("c", 0.0)):
        place = calls.begin(1, Label("sum", name), at_s, locate())
        if name != "a":
            calls.end(place, at_s)
    assert [rank[:4] for rank in progress_of(calls, 2)] == [(0, 0, 0, ""), (1, 3, 2, 'sum of "a"')]
    calls.end(0, 1.0)
    assert progress_of(calls, 2)[1][:4] == (1, 3, 3, 'sum of "c"')


def test_a_root_that_runs_ahead_is_compared_collective_by_collective(execute):
    def program(comm, swapped):
        for number in range(20):
            broadcast(comm, torch.ones(1), 0, name=str(number ^ 1 if comm.rank == 2 and swapped else number))

    execute(program, 3, args=(False,))
    with pytest.raises(MismatchError, match="two collectives"):
        execute(program, 3, args=(True,))
