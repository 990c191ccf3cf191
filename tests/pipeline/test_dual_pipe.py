"""DualPipeV and DualPipe: PyTorch's order, the published bubble and memory, and gradients through both copies."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.distributed.pipelining.schedules import ScheduleDualPipeV

from course_lib.comm import simulate
from course_lib.pipeline import (
    Operation,
    OperationTimes,
    Schedule,
    ScheduleError,
    check_schedule,
    dual_pipe,
    dual_pipe_v,
    peak_in_flight,
    pipeline_timeline,
    run_schedule,
)

HALVES = OperationTimes(0.5, 0.5, 0.5)


def test_dual_pipe_v_on_two_ranks_by_hand():
    def written(call: tuple[Operation, ...]) -> str:
        return "+".join(f"{kind}{number}" + "'" * (stage > 1) for kind, stage, number in call)

    schedule = dual_pipe_v(2, 4)  # a stroke marks the second of a rank's stages, a plus what is one call
    assert [" ".join(map(written, schedule.calls(rank))) for rank in (0, 1)] == [
        "F0 F1 F2 F0' B0' W0' F1' F3+B1'+W1' F2'+B0+W0 B2'+W2' F3'+B1+W1 B3'+W3' B2 W2 B3 W3",
        "F0 F0' F1 F1' F2 B0'+W0' F2'+B0+W0 F3+B1'+W1' F3'+B1+W1 B2'+W2' B2+W2 B3' B3 W3' W3",
    ]


def in_pytorch(rank: int, ranks: int, micro_batches: int) -> list[tuple[str, int, int]]:
    """The order of PyTorch's own schedule; I is B alone, B is B and W."""
    asked = SimpleNamespace(pp_group_size=ranks, _n_microbatches=micro_batches)
    actions = ScheduleDualPipeV._calculate_single_rank_operations(asked, rank)
    single = [each for action in actions for each in action.sub_actions or (action,)]
    kinds = {"F": "F", "I": "B", "W": "W", "B": "BW"}
    return [
        (kind, each.stage_index, each.microbatch_index)
        for each in single
        for kind in kinds[each.computation_type.value]
    ]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_the_order_is_pytorchs(ranks):
    for micro_batches in (2 * ranks, 2 * ranks + 3, 5 * ranks):
        schedule = dual_pipe_v(ranks, micro_batches)
        assert [list(map(tuple, each)) for each in schedule.ranks] == [
            in_pytorch(rank, ranks, micro_batches) for rank in range(ranks)
        ]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("overlap_s", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("weight_s", [0.2, 0.5])
def test_the_published_bubble_and_memory(ranks, overlap_s, weight_s):
    # deepseek-ai/DualPipe, README: (p/2 - 1)(F&B + B - 3W) on p stages, p + 1 passes held; B is all of backward.
    times = replace(HALVES, weight_s=weight_s, overlap_s=overlap_s)
    whole = 0.5 + weight_s
    for micro_batches in (2 * ranks, 2 * ranks + 1, 4 * ranks):
        timeline = pipeline_timeline(dual_pipe_v(ranks, micro_batches), times)
        busy = sum(timed.end_s - timed.start_s for timed in timeline.ranks[-1])
        idle = (ranks - 1) * (0.5 + whole - overlap_s + whole - 3 * weight_s)
        assert timeline.makespan_s - busy == pytest.approx(idle, abs=1e-9)
        assert timeline.peak_in_flight == [2 * ranks + 1] * ranks


@pytest.mark.parametrize("half", [1, 2, 3, 4])
@pytest.mark.parametrize("micro_batches", [1, 3, 8, 11])
def test_each_half_of_dual_pipe_does_what_dual_pipe_v_does(half, micro_batches):
    both, folded = dual_pipe(2 * half, 2 * micro_batches), dual_pipe_v(half, micro_batches)
    check_schedule(both)
    for times in (HALVES, OperationTimes(1, 2, 1, overlap_s=0.5)):
        rows, once = (pipeline_timeline(each, times).ranks for each in (both, folded))
        spans = [[timed[1:] for timed in row] for row in rows]
        assert spans == [[timed[1:] for timed in row] for row in (*once, *reversed(once))]
    assert peak_in_flight(both) == peak_in_flight(folded) + peak_in_flight(folded)[::-1]


class Whole(nn.Linear):
    """A layer of whole numbers, so that sums are exact in any order."""

    def __init__(self, stage: int) -> None:
        super().__init__(3, 3, dtype=torch.float64)
        draw = torch.Generator().manual_seed(stage)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=draw))


def both_ends(comm, schedule, parts):
    stages = {stage: Whole(stage) for stage in (comm.rank, comm.world_size - 1 - comm.rank)}
    run_schedule(comm, schedule, stages, parts, lambda *_: parts[0].shape, lambda y, _: y.sum())
    return {stage: [parameter.grad for parameter in module.parameters()] for stage, module in stages.items()}


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_two_copies_of_a_stage_have_its_gradients_together(ranks):
    batch = torch.randint(-3, 4, (12, 3), generator=torch.Generator().manual_seed(0)).double()
    results = simulate(both_ends, ranks, args=(dual_pipe(ranks, 12), batch.split(1))).results
    model = nn.Sequential(*map(Whole, range(ranks)))
    model(batch).sum().backward()
    for stage, module in enumerate(model):
        copies = zip(results[stage][stage], results[ranks - 1 - stage][stage], strict=True)
        found = [one + other for one, other in copies]
        assert all(torch.equal(a, p.grad) for a, p in zip(found, module.parameters(), strict=True))


def test_a_call_waits_for_all_that_it_needs():
    f = Operation("F", 0, 1)
    rank_1 = tuple(Operation(kind, 1, number) for kind in "FB" for number in (0, 1))
    ranks = ((Operation("F", 0, 0), f, Operation("B", 0, 0), Operation("B", 0, 1)), rank_1)
    check_schedule(Schedule("own", 2, 2, ranks))
    with pytest.raises(ScheduleError, match="rank 0 cannot do F1 of stage 0 before B0 of stage 1; rank 1 cannot do F1"):
        check_schedule(Schedule("own", 2, 2, ranks, together=frozenset([f])))


def test_what_is_refused():
    with pytest.raises(ValueError, match="must be even, got 3 and 4"):
        dual_pipe(3, 4)
    with pytest.raises(ValueError, match="must be even, got 2 and 3"):
        dual_pipe(2, 3)
    with pytest.raises(ValueError, match="a rank and a micro-batch, got 2 and 0"):
        dual_pipe_v(2, 0)
