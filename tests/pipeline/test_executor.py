"""The executor: any schedule gives one process's gradients, and takes the time that is computed for it."""

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import Network, RankError, run, simulate
from course_lib.pipeline import (
    SCHEDULES,
    OperationTimes,
    ScheduleError,
    peak_in_flight,
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
    schedule = SCHEDULES[name](4, 8)
    # What one call sends goes over a wire one after the other; computed transfers keep nobody busy.
    times = OperationTimes(1e-3, 9e-4, 5e-4, transfer_s=0.0 if schedule.together else 1e-4)
    report = simulate(one_step, 4, args=(schedule, False, times), network=Network(latency_s=times.transfer_s))
    timeline = pipeline_timeline(schedule, times)
    assert report.seconds == pytest.approx(timeline.makespan_s, abs=1e-9)
    recorded = recorded_timeline(schedule, report.trace)
    for computed_rank, recorded_rank in zip(timeline.ranks, recorded.ranks, strict=True):
        for computed, found in zip(computed_rank, recorded_rank, strict=True):
            assert found == (computed.operation, pytest.approx(computed[1]), pytest.approx(computed[2]))


def emulated_1f1b():
    """An emulated run of 1F1B's report, its schedule, and the computed timeline."""
    schedule, times = SCHEDULES["1F1B"](2, 4), OperationTimes(0.1, 0.1, 0.05, transfer_s=0.01)
    report = run(one_step, 2, args=(schedule, False, times), network=Network(latency_s=times.transfer_s))
    return report, schedule, pipeline_timeline(schedule, times)


def test_an_emulated_run_does_the_computed_operations_in_their_order_and_is_never_early():
    report, schedule, timeline = emulated_1f1b()
    recorded = recorded_timeline(schedule, report.trace)
    assert [[each[0] for each in rank] for rank in recorded.ranks] == [[e[0] for e in rank] for rank in timeline.ranks]
    assert report.seconds >= timeline.makespan_s - 1e-9


@pytest.mark.clock
def test_an_emulated_run_takes_the_computed_time():
    report, _, timeline = emulated_1f1b()
    assert report.seconds == pytest.approx(timeline.makespan_s, rel=0.05)


def test_a_bad_schedule_is_refused_before_anything_is_sent():
    bad = Schedule("own", 1, 1, ((Operation("B", 0, 0), Operation("F", 0, 0)),))
    with pytest.raises(Exception, match="deadlock: rank 0 cannot do B0 of stage 0 before F0 of stage 0") as caught:
        simulate(one_step, 1, args=(bad,))
    assert ScheduleError.__name__ in str(caught.value)


class Drawing(nn.Sequential):
    """A stage that draws random numbers and updates running statistics."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 4))


def drawn_step(comm, schedule, recompute, seed):
    torch.manual_seed(seed)
    stages = {s: Drawing() for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}
    inputs = torch.randn(2 * schedule.micro_batches, 4).split(2)
    shape, loss = (lambda *_: (2, 4)), (lambda y, _: y.square().sum())
    rank = run_schedule(comm, schedule, stages, inputs, shape, loss, recompute=recompute)
    parts = nn.ModuleList(stages.values())
    gradients = [parameter.grad for parameter in parts.parameters()]
    return rank.losses, gradients, list(parts.buffers()), torch.get_rng_state()


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@given(st.sampled_from(sorted(SCHEDULES)), st.integers(1, 3), st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_recomputation_changes_no_loss_gradient_or_buffer_where_a_stage_draws_and_counts(name, ranks, rounds, seed):
    schedule = SCHEDULES[name](ranks, rounds * ranks)
    plain, again = (simulate(drawn_step, ranks, args=(schedule, flag, seed)).results for flag in (False, True))
    for (losses, *tensors, state), (other_losses, *others, other_state) in zip(plain, again, strict=True):
        assert losses == other_losses
        assert all(equal(a, b) for a, b in zip(tensors, others, strict=True))
        assert torch.equal(state, other_state)


def live_step(comm, schedule):
    """The most memory of what this rank sent that was alive at once, in tensors, and what lives at the end."""
    sent: dict[int, weakref.ref] = {}
    most = 0
    isend = comm.isend

    class Counting:
        def __getattr__(self, name):
            return getattr(comm, name)

        def isend(self, tensor, dst):
            nonlocal most
            sent[len(sent)] = weakref.ref(tensor.untyped_storage())
            most = max(most, sum(each() is not None for each in sent.values()))
            return isend(tensor, dst)

    stages = {s: Whole(s) for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}
    inputs = [X] * schedule.micro_batches
    rank = run_schedule(Counting(), schedule, stages, inputs, lambda *_: X.shape, lambda y, _: y.sum())
    del rank
    gc.collect()
    return len(sent), most, sum(each() is not None for each in sent.values())


@pytest.mark.parametrize(("execute", "ranks", "micro_batches"), [(simulate, 4, 128), (run, 2, 8)])
def test_1f1b_keeps_what_it_sent_for_the_micro_batches_under_way_only(execute, ranks, micro_batches):
    schedule = SCHEDULES["1F1B"](ranks, micro_batches)
    results = execute(live_step, ranks, args=(schedule,)).results
    assert [sent for sent, _, _ in results] == [micro_batches, *[2 * micro_batches] * (ranks - 2), micro_batches]
    for (_, most, left), held in zip(results, peak_in_flight(schedule), strict=True):
        assert most <= held + 2  # what goes forward, one a micro-batch held, and two gradients on their way back
        assert left == 0


@pytest.mark.parametrize("name", ["one at a time", "1F1B", "interleaved", "ZB-H1", "ZB-H2"])
def test_what_is_on_its_way_does_not_grow_with_the_micro_batches(name):
    few, many = (simulate(sends_at_most, 4, args=(SCHEDULES[name](4, m),)).results for m in (16, 32))
    assert few == many
    assert name != "1F1B" or many == [4, 4, 3, 2]


def sends_at_most(comm, schedule):
    stages = {s: nn.Identity() for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}
    inputs = [torch.ones(1, requires_grad=True) for _ in range(schedule.micro_batches)]
    rank = run_schedule(comm, schedule, stages, inputs, lambda *_: (1,), lambda y, _: y.sum())
    return rank._outbox.peak


class Scale(nn.Module):
    """A stage without parameters."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 3 * x


def parts_step(comm, schedule, build, count=None, dtype=torch.float64):
    stages = {s: build(s) for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}
    inputs = [X[number : number + 1].to(dtype) for number in range(count or schedule.micro_batches)]
    rank = run_schedule(comm, schedule, stages, inputs, lambda *_: (1, WIDTH), lambda y, _: y.sum())
    rank.run()  # a second step adds up
    return sum(rank.losses.values()), {s: [p.grad for p in stage.parameters()] for s, stage in stages.items()}


@pytest.mark.parametrize("name", ["1F1B", "ZB-H1", "interleaved"])
@pytest.mark.parametrize("bare", [{0}, {1}, {2}, {0, 1, 2}])
def test_stages_without_parameters_and_frozen_ones_pass_everything_on(name, bare):
    def build(stage):
        module = Scale() if stage in bare else Whole(stage)
        return module.requires_grad_(stage != 1)

    schedule = SCHEDULES[name](3, 3)
    stages = [build(stage) for stage in range(schedule.stages)]
    loss = nn.Sequential(*stages)(X[:3]).sum()
    if loss.requires_grad:
        loss.backward()
    results = simulate(parts_step, 3, args=(schedule, build)).results
    assert sum(part for part, _ in results) == loss.item()
    for _, gradients in results:
        for stage, found in gradients.items():
            expected = [p.grad for p in stages[stage].parameters()]
            assert all((a is None) == (b is None) for a, b in zip(found, expected, strict=True))
            assert all(torch.equal(a, 2 * b) for a, b in zip(found, expected, strict=True) if b is not None)


def test_what_does_not_fit_the_schedule_is_refused_by_its_numbers():
    schedule = SCHEDULES["1F1B"](3, 4)
    for ranks in (2, 4):
        with pytest.raises(Exception, match=f"the schedule is for 3 ranks, there are {ranks}"):
            simulate(parts_step, ranks, args=(schedule, Whole))
    for count in (3, 6):
        with pytest.raises(Exception, match=f"the schedule has 4 micro-batches, got {count} inputs"):
            simulate(parts_step, 3, args=(schedule, Whole, count))

    def of_another(comm):
        run_schedule(comm, schedule, {0: Whole(0)}, [X] * 4, lambda *_: X.shape, lambda y, _: y.sum())

    with pytest.raises(Exception, match=r"rank 1 has stages \[1\] in the schedule, got \[0\]"):
        simulate(of_another, 3)


class Detached(nn.Linear):
    """Uses what it is given, and has no gradient for it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.detach())


def small_step(comm, schedule, make_stage, recompute=False, learns=True):
    parts = [part.float().clone().requires_grad_(learns) for part in X.tensor_split(schedule.micro_batches)]
    stages = {s: make_stage(s) for s in range(schedule.stages) if schedule.rank_of(s) == comm.rank}

    def shape_of(_, number):
        return len(parts[number]), WIDTH

    run_schedule(comm, schedule, stages, parts, shape_of, lambda y, _: y.square().sum(), recompute=recompute)
    return [p.grad for stage in stages.values() for p in stage.parameters()], [part.grad for part in parts]


@pytest.mark.parametrize("name", ["1F1B", "ZB-H1"])
def test_a_stage_before_one_that_has_no_gradient_for_it_gets_zeros_and_does_not_wait(name) -> None:
    def make_stage(number):
        return (Detached if number else nn.Linear)(WIDTH, WIDTH)

    (first, _), (last, _) = simulate(small_step, 2, args=(SCHEDULES[name](2, 3), make_stage)).results
    assert not any(gradient.any() for gradient in first)
    assert all(gradient.any() for gradient in last)


@pytest.mark.parametrize("name", ["1F1B", "ZB-H1"])
def test_the_inputs_of_the_first_stage_get_the_gradients_that_they_want(name) -> None:
    torch.manual_seed(0)
    whole = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))
    x = X.float().requires_grad_()
    whole(x).square().sum().backward()
    (_, gradients), _ = simulate(small_step, 2, args=(SCHEDULES[name](2, 3), whole.__getitem__)).results
    torch.testing.assert_close(torch.cat(gradients), x.grad)


def test_a_stage_that_is_recomputed_and_changes_its_input_is_refused() -> None:
    def make_stage(_):
        return nn.Sequential(nn.ELU(inplace=True), nn.Linear(WIDTH, WIDTH))

    with pytest.raises(RankError, match="must not change its input in place, stage 0 does"):
        simulate(small_step, 2, args=(SCHEDULES["1F1B"](2, 3), make_stage, True, False))
