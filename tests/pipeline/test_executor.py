"""The executor: any schedule gives one process's gradients, and takes the time that is computed for it."""

import pytest
import torch
from torch import nn

from course_lib import Network, run, simulate
from course_lib.pipeline import (
    SCHEDULES,
    OperationTimes,
    ScheduleError,
    pipeline_timeline,
    recorded_timeline,
    run_schedule,
)
from course_lib.pipeline.schedule import Operation, Schedule

WIDTH, BATCH = 6, 13


class Whole(nn.Module):
    """A stage whose numbers stay whole, so that sums are exact in any order."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randint(-2, 3, (WIDTH, WIDTH), generator=draw).double())
        self.bias = nn.Parameter(torch.randint(-2, 3, (WIDTH,), generator=draw).double())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.weight + self.bias).relu()


X = torch.randint(-3, 4, (BATCH, WIDTH), generator=torch.Generator().manual_seed(7)).double()


def one_step(comm, schedule, recompute=False, times=None):
    parts = X.tensor_split(schedule.micro_batches)
    stages = {s: Whole(s) for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}
    rank = run_schedule(
        comm,
        schedule,
        stages,
        parts,
        lambda stage, number: (len(parts[number]), WIDTH),
        lambda y, number: y.sum(),
        recompute=recompute,
        times=times,
    )
    return {s: [p.grad for p in stage.parameters()] for s, stage in stages.items()}, sum(rank.losses.values())


def check(schedule, results):
    stages = [Whole(s) for s in range(schedule.stages)]
    loss = nn.Sequential(*stages)(X).sum()
    loss.backward()
    assert sum(losses for _, losses in results) == loss.item()
    for gradients, _ in results:
        for stage, parts in gradients.items():
            assert all(torch.equal(a, p.grad) for a, p in zip(parts, stages[stage].parameters(), strict=True))


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("world_size", "micro_batches"), [(1, 3), (2, 4), (3, 6), (4, 4)])
def test_every_schedule_gives_the_gradients_of_one_process_exactly(name, world_size, micro_batches, recompute):
    schedule = SCHEDULES[name](world_size, micro_batches)  # 13 examples: no number of micro-batches divides them
    check(schedule, simulate(one_step, world_size, args=(schedule, recompute)).results)


@pytest.mark.parametrize("name", ["1F1B", "interleaved", "ZB-H2"])
def test_real_processes_do_the_same(name):
    schedule = SCHEDULES[name](2, 4)
    check(schedule, run(one_step, 2, args=(schedule,)).results)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_simulated_run_takes_the_computed_time(name):
    schedule, times = SCHEDULES[name](4, 8), OperationTimes(1e-3, 9e-4, 5e-4, transfer_s=1e-4)
    report = simulate(one_step, 4, args=(schedule, False, times), network=Network(latency_s=times.transfer_s))
    timeline = pipeline_timeline(schedule, times)
    assert report.seconds == pytest.approx(timeline.makespan_s, abs=1e-9)
    recorded = recorded_timeline(schedule, report.trace)
    for computed_rank, recorded_rank in zip(timeline.ranks, recorded.ranks, strict=True):
        for computed, found in zip(computed_rank, recorded_rank, strict=True):
            assert found == (computed.operation, pytest.approx(computed[1]), pytest.approx(computed[2]))


def test_an_emulated_run_takes_the_computed_time():
    schedule, times = SCHEDULES["1F1B"](2, 4), OperationTimes(0.1, 0.1, 0.05, transfer_s=0.01)
    report = run(one_step, 2, args=(schedule, False, times), network=Network(latency_s=times.transfer_s))
    assert report.seconds == pytest.approx(pipeline_timeline(schedule, times).makespan_s, rel=0.05)


def test_a_bad_schedule_is_refused_before_anything_is_sent():
    bad = Schedule("own", 1, 1, ((Operation("B", 0, 0), Operation("F", 0, 0)),))
    with pytest.raises(Exception, match="deadlock: rank 0 cannot do B0 of stage 0 before F0 of stage 0") as caught:
        simulate(one_step, 1, args=(bad,))
    assert ScheduleError.__name__ in str(caught.value)
