"""Buckets leave while the backward pass still runs, in one order on all ranks, and backward alone is enough."""

import contextlib
import copy

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib import Network, RankError, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel import (
    Bucket,
    DataParallel,
    LayerCost,
    broadcast_state,
    bucket_plan,
    synchronize_batch_norm,
)
from course_lib.data_parallel.experiments.timed_layers import timed, timed_step

LINKS = Network(latency_s=0.001, bytes_per_s=1e6)
LAYERS = [LayerCost(parameter_bytes=40_000, forward_s=0.01, backward_s=0.02)] * 4


def test_buckets_are_filled_from_the_last_parameter_to_the_first() -> None:
    parameters = [torch.empty(length) for length in (4, 1, 4, 1, 4, 1)]  # w0 b0 w1 b1 w2 b2
    assert bucket_plan(parameters, bucket_bytes=20) == [Bucket((5, 4), 20), Bucket((3, 2), 20), Bucket((1, 0), 20)]
    assert bucket_plan(parameters, bucket_bytes=1) == [
        Bucket((n,), 4 * length) for n, length in zip(range(5, -1, -1), (1, 4) * 3, strict=True)
    ]
    assert bucket_plan(parameters) == [Bucket((5, 4, 3, 2, 1, 0), 60)]
    giant = [torch.empty(length) for length in (1, 1000, 1)]
    assert bucket_plan(giant, bucket_bytes=20) == [Bucket((2, 1), 4004), Bucket((0,), 4)]
    assert bucket_plan([]) == []


def test_a_bucket_holds_one_dtype_and_comes_when_it_is_complete() -> None:
    kinds = [torch.float32, torch.float64, torch.float32, torch.float64, torch.float32]
    plan = bucket_plan([torch.empty(2, dtype=kind) for kind in kinds], bucket_bytes=16)
    assert plan == [Bucket((3,), 16), Bucket((4, 2), 16), Bucket((1,), 16), Bucket((0,), 8)]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12), st.integers(1, 200))
def test_buckets_are_those_that_torch_cuts(kinds: list, bucket_bytes: int) -> None:
    parameters = [torch.empty(length, dtype=(torch.float32, torch.float64)[wide]) for length, wide in kinds]
    ours = {bucket.numbers for bucket in bucket_plan(parameters, bucket_bytes)}
    theirs = dist._compute_bucket_assignment_by_size(parameters[::-1], [bucket_bytes])[0] if parameters else []
    assert ours == {tuple(len(parameters) - 1 - place for place in bucket) for bucket in theirs}


def test_a_bucket_of_no_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="bucket_bytes must be at least 1, got 0"):
        bucket_plan([torch.empty(1)], 0)


def starts_and_ends(trace) -> tuple[list[float], dict[str, float]]:
    """When rank 0's messages of gradients start, and when its passes through the layers end."""
    starts = [message.start_s for message in trace.messages if message.src == 0 and message.message_bytes]
    return starts, {span.label: span.end_s for span in trace.spans if span.rank == 0}


@pytest.mark.parametrize("world_size", [2, 3])
def test_the_first_bucket_leaves_while_backward_still_runs(world_size: int) -> None:
    starts, ends = starts_and_ends(simulate(timed_step, world_size, (LAYERS, 40_000), network=LINKS).trace)
    assert min(starts) == ends["backward 3"] < ends["backward 2"] < ends["backward 1"] < ends["backward 0"]
    late, ends = starts_and_ends(simulate(timed_step, world_size, (LAYERS, 40_000), {"overlap": False}, LINKS).trace)
    assert min(late) == ends["backward 0"]


def test_on_slowed_links_too_the_first_bucket_leaves_while_backward_still_runs() -> None:
    starts, ends = starts_and_ends(run(timed_step, 2, (LAYERS, 40_000), network=LINKS).trace)
    assert ends["backward 3"] <= min(starts) < ends["backward 1"]
    late, ends = starts_and_ends(run(timed_step, 2, (LAYERS, 40_000), {"overlap": False}, network=LINKS).trace)
    assert min(late) >= ends["backward 0"]


def test_every_bucket_is_one_all_reduce() -> None:
    for bucket_bytes, buckets in [(1, 4), (40_000, 4), (40_001, 2), (160_000, 1)]:
        trace = simulate(timed_step, 3, (LAYERS, bucket_bytes)).trace
        gradients = [message for message in trace.messages if message.message_bytes]
        assert len(gradients) == buckets * 3 * 2 * (3 - 1)
        assert sum(message.message_bytes for message in gradients) == 4 * 40_000 * 2 * (3 - 1)


def test_timed_layers_keep_the_rank_busy_and_change_no_number() -> None:
    def program(comm):
        torch.manual_seed(0)
        inputs, module = torch.randn(5, 3, requires_grad=True), nn.Linear(3, 2)
        plain = torch.autograd.grad(module(inputs).sum(), [inputs, *module.parameters()])
        timed(module, comm, forward_s=1.0, backward_s=2.0, label="layer")
        slow = torch.autograd.grad(module(inputs).sum(), [inputs, *module.parameters()])
        return all(torch.equal(a, b) for a, b in zip(plain, slow, strict=True))

    report = simulate(program, 1)
    assert report.results == [True]
    assert [tuple(span) for span in report.trace.spans] == [(0, "forward layer", 0, 1), (0, "backward layer", 1, 3)]


def test_no_sync_sends_nothing_and_the_next_backward_sends_once() -> None:
    def program(comm, synchronized: bool):
        model = DataParallel(comm, nn.Linear(2, 2))
        with model.no_sync():
            model(torch.ones(1, 2)).sum().backward()
            with model.no_sync():
                model(torch.ones(1, 2)).sum().backward()
            model(torch.ones(1, 2)).sum().backward()
        if synchronized:
            model(torch.full((1, 2), float(comm.rank))).sum().backward()
        return model.module.weight.grad.unique().tolist()

    alone, together = simulate(program, 2, (False,)), simulate(program, 2, (True,))
    assert alone.trace.messages == []
    assert alone.results == [[3.0]] * 2
    assert len(together.trace.messages) == 4
    assert together.results == [[3.5]] * 2


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_of_one_step_do_not_reach_the_next(set_to_none: bool, overlap: bool) -> None:
    def program(comm):
        model, found = DataParallel(comm, nn.Linear(2, 1), 1, overlap=overlap), []
        for step in range(3):
            model.zero_grad(set_to_none=set_to_none)
            model(torch.full((1, 2), 10.0 * step + comm.rank)).sum().backward()
            found.append(model.module.weight.grad.tolist())
        return found

    assert simulate(program, 2).results == [[[[10.0 * step + 0.5] * 2] for step in range(3)]] * 2


def test_gradients_that_are_not_cleared_add_up_as_in_one_process() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Linear(1, 1))
        for step in (1.0, 10.0):
            model(torch.full((1, 1), step * (comm.rank + 1))).sum().backward()
        return model.module.weight.grad.item()

    assert simulate(program, 2).results == [1.5 + 15.0] * 2


def test_a_weight_used_twice_is_averaged_once_and_whole() -> None:
    def program(comm):
        layer = nn.Linear(2, 2, bias=False)
        nn.init.eye_(layer.weight)
        model = DataParallel(comm, nn.Sequential(layer, layer))
        model(torch.full((1, 2), comm.rank + 1.0)).sum().backward()
        return layer.weight.grad.unique().tolist()

    report = simulate(program, 2)
    assert report.results == [[3.0]] * 2
    assert len(report.trace.messages) == 4


def test_gradients_live_in_their_buckets() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Linear(3, 2))
        model(torch.ones(1, 3)).sum().backward()
        grads = [parameter.grad for parameter in model.parameters()]
        return len({grad.untyped_storage().data_ptr() for grad in grads})

    assert simulate(program, 2).results == [1, 1]


def test_ranks_whose_gradients_come_in_other_orders_agree_on_the_order_of_buckets() -> None:
    def program(comm):
        first, second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        nn.init.constant_(first.weight, 2.0), nn.init.constant_(second.weight, 3.0)
        DataParallel(comm, nn.ModuleList([first, second]), bucket_bytes=1)
        inputs = torch.full((1, 1), 1.0 + comm.rank)
        (first(second(inputs)) if comm.rank else second(first(inputs))).sum().backward()
        return first.weight.grad.item(), second.weight.grad.item()

    # The gradients of a rank differ, so a bucket that met another would show: 3 × input and 2 × input.
    assert simulate(program, 2).results == [(4.5, 3.0)] * 2


def test_a_second_gradient_in_one_backward_pass_is_refused() -> None:
    def program(comm):
        twice, head = nn.Linear(1, 1), nn.Linear(1, 1)
        DataParallel(comm, nn.ModuleList([twice, head]))
        inputs = torch.ones(1, 1, requires_grad=True)
        once = checkpoint(twice, inputs, use_reentrant=True)
        head(checkpoint(twice, once, use_reentrant=True)).sum().backward()

    with pytest.raises(RankError, match=r"0\.bias got a second gradient in one backward pass"):
        simulate(program, 1)


class Fragile(nn.Module):
    """Two layers; the backward pass fails between them when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.first.weight), nn.init.ones_(self.last.weight)

    def forward(self, inputs: torch.Tensor, fails: bool = False) -> torch.Tensor:
        hidden = self.first(inputs)
        if fails:
            hidden.register_hook(self.fail)
        return self.last(hidden)

    def fail(self, _: torch.Tensor) -> None:
        raise ArithmeticError("no gradient today")


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("failing", [[0], [1], [0, 1]])
def test_after_an_error_in_a_backward_pass_training_goes_on(failing: list, overlap: bool) -> None:
    def program(comm):
        model = DataParallel(comm, Fragile(), bucket_bytes=1, overlap=overlap)
        inputs = torch.full((1, 1), comm.rank + 1.0)
        try:
            model(inputs, comm.rank in failing).sum().backward()
        except ArithmeticError:
            model.finish()  # or the other rank would wait for the buckets of this one
        model.zero_grad()
        model(inputs).sum().backward()
        return [parameter.grad.item() for parameter in model.parameters()]

    assert simulate(program, 2).results == [[1.5, 1.5]] * 2


def test_an_error_in_a_backward_pass_is_not_forgotten() -> None:
    def program(comm):
        model = DataParallel(comm, Fragile())
        with contextlib.suppress(ArithmeticError):
            model(torch.ones(1, 1), fails=True).sum().backward()
        model(torch.ones(1, 1))

    with pytest.raises(RankError, match=r"ended with an error: call finish\(\) after it, then zero_grad\(\)"):
        simulate(program, 1)


def test_a_wrapper_that_is_run_again_in_the_backward_pass_is_no_error() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Sequential(nn.Linear(1, 1), nn.Tanh(), nn.Linear(1, 1)))
        torch.manual_seed(0)
        broadcast_state(comm, model)
        inputs, found = torch.full((1, 1), comm.rank + 1.0), []
        for again in (True, False):
            model.zero_grad()
            (checkpoint(model, inputs, use_reentrant=False) if again else model(inputs)).sum().backward()
            found.append([parameter.grad.clone() for parameter in model.parameters()])
        return all(torch.equal(first, second) for first, second in zip(*found, strict=True))

    assert simulate(program, 2).results == [True, True]


def test_a_parameter_used_only_without_synchronizing_is_averaged_too() -> None:
    def program(comm):
        model = DataParallel(comm, Fragile(), bucket_bytes=1)
        with model.no_sync():
            model.module.first(torch.full((1, 1), comm.rank + 1.0)).sum().backward()
        model.module.last(torch.full((1, 1), 10.0 * comm.rank)).sum().backward()
        return [parameter.grad.item() for parameter in model.parameters()]

    assert simulate(program, 2).results == [[1.5, 5.0]] * 2


def test_an_error_of_the_all_reduce_reaches_backward() -> None:
    def broken(comm, tensor):
        raise ArithmeticError("no sum today")

    def program(comm, overlap):
        DataParallel(comm, nn.Linear(1, 1), overlap=overlap, all_reduce=broken)(torch.ones(1, 1)).sum().backward()

    for overlap in (True, False):
        with pytest.raises(RankError, match="no sum today"):
            simulate(program, 2, (overlap,))


def test_the_wrapped_module_comes_back_from_real_processes() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Linear(2, 1), all_reduce=ring_all_reduce)
        model(torch.full((1, 2), float(comm.rank))).sum().backward()
        return model.module, model.module.weight.grad

    for module, gradient in run(program, 2).results:
        assert gradient.tolist() == [[0.5, 0.5]]
        assert module(torch.ones(1, 2)).shape == (1, 1)


@pytest.mark.parametrize("launch", [simulate, run])
def test_a_copy_of_a_wrapper_averages_by_itself(launch) -> None:
    def program(comm):
        model = DataParallel(comm, synchronize_batch_norm(comm, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))), 1)
        copied, inputs = copy.deepcopy(model.eval().train()), torch.arange(4.0).view(2, 2) * (comm.rank + 1)
        gradients = []
        for each in (model, copied):
            (each(inputs) * inputs).sum().backward()
            gradients.append([parameter.grad.tolist() for parameter in each.parameters()])
        apart = all(a is not b for a, b in zip(model.parameters(), copied.parameters(), strict=True))
        return *gradients, apart

    first, *others = launch(program, 2).results
    assert first[0] == first[1]
    assert all(each == first and each[2] for each in others)
