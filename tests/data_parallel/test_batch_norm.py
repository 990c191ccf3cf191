"""SyncBatchNorm on parts of a batch is nn.BatchNorm on the whole, for one all-reduce in each direction."""

import copy
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from course_lib import RankError, run, simulate
from course_lib.collectives import ring_all_reduce_cost
from course_lib.data_parallel import (
    DataParallel,
    SyncBatchNorm,
    average_gradients,
    average_gradients_in_buckets,
    synchronize_batch_norm,
)
from course_lib.data_parallel.experiments.batch_statistics import (
    expected_scatter,
    running_weight,
    statistics_scatter,
    train_with_batch_norm,
    variance_parts,
)
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.tasks import load_digits

JOINED = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}


def one_step(module: nn.Module, inputs: torch.Tensor, weights: torch.Tensor, scale: float) -> torch.Tensor:
    """Gradient of the inputs after a backward pass of scale × the sum of weights × outputs², and the outputs."""
    inputs = inputs.clone().requires_grad_()
    outputs = module(inputs)
    (scale * (weights * outputs**2).sum()).backward()
    return inputs.grad, outputs.detach()


def split_step(comm, module: nn.Module, inputs: torch.Tensor, weights: torch.Tensor, lengths: list, steps: int = 1):
    """The same on this rank's part; (input gradients, outputs, parameter gradients, buffers) of the last step."""
    part, own = inputs.split(lengths)[comm.rank], weights.split(lengths)[comm.rank]
    synchronized = synchronize_batch_norm(comm, module)
    for _ in range(steps):
        synchronized.zero_grad()
        gradient, outputs = one_step(synchronized, part, own, comm.world_size / len(inputs))
    average_gradients(comm, synchronized)
    # What averaging divides by is the loss's factor, so the inputs' gradients are world_size times too large.
    return gradient / comm.world_size, outputs, [p.grad for p in synchronized.parameters()], [*synchronized.buffers()]


def example(lengths: list, channels: int, positions: tuple, seed: int, dtype=torch.float64) -> tuple:
    """A batch norm with weights of its own, inputs of a mean and deviation of their own, and weights of the outputs."""
    generator = torch.Generator().manual_seed(seed)
    shape = sum(lengths), channels, *positions
    inputs = torch.randn(shape, generator=generator, dtype=dtype) * 3 + 5
    module = JOINED[len(shape)](channels, dtype=dtype)
    for parameter in module.parameters():
        parameter.data.normal_(generator=generator)
    return module, inputs, torch.randn(shape, generator=generator, dtype=dtype)


def assert_parts_equal_the_whole(lengths, channels, positions, seed, dtype=torch.float64, steps=1, runner=simulate):
    module, inputs, weights = example(lengths, channels, positions, seed, dtype)
    joined = copy.deepcopy(module)
    for _ in range(steps):
        joined.zero_grad()
        wanted = one_step(joined, inputs, weights, 1 / len(inputs))
    report = runner(split_step, len(lengths), (module, inputs, weights, lengths, steps))
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-4}
    gradients, outputs, parameter_gradients, buffers = zip(*report.results, strict=True)
    torch.testing.assert_close(torch.cat(gradients), wanted[0], **close)
    torch.testing.assert_close(torch.cat(outputs), wanted[1], **close)
    for ours in parameter_gradients:
        torch.testing.assert_close(ours, [parameter.grad for parameter in joined.parameters()], **close)
    for ours in buffers:
        torch.testing.assert_close(ours, list(joined.buffers()), **close)
    return report


def test_two_ranks_with_one_number_each_by_hand() -> None:
    def program(comm):
        module = SyncBatchNorm(comm, 1, eps=0.0, momentum=1.0)
        outputs = module(torch.tensor([[3.0, 7.0][comm.rank]]).view(1, 1))
        return outputs.item(), module.running_mean.item(), module.running_var.item()

    # Mean 5, biased variance 4 to divide by, unbiased variance 8 to remember.
    assert simulate(program, 2).results == [(-1.0, 5.0, 8.0), (1.0, 5.0, 8.0)]


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(lambda lengths: sum(lengths) > 2),
    channels=st.integers(1, 4),
    positions=st.lists(st.integers(1, 3), max_size=3).map(tuple),
    seed=st.integers(0, 999),
)
def test_parts_of_any_length_equal_the_whole(lengths, channels, positions, seed) -> None:
    assert_parts_equal_the_whole(lengths, channels, positions, seed)


def test_running_statistics_follow_over_several_steps() -> None:
    assert_parts_equal_the_whole([4, 1, 3], 3, (2,), seed=0, steps=5)


def test_float32_equals_the_whole_to_its_rounding() -> None:
    assert_parts_equal_the_whole([4, 1, 3], 3, (2,), seed=0, dtype=torch.float32)


def test_real_processes_equal_the_whole() -> None:
    assert_parts_equal_the_whole([3, 1], 3, (2, 2), seed=0, runner=run)


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_each_direction_is_one_all_reduce(world_size: int) -> None:
    channels = 6

    def program(comm, backward):
        outputs = SyncBatchNorm(comm, channels)(torch.randn(2, channels, 3, requires_grad=True))
        if backward:
            outputs.sum().backward()

    forward = simulate(program, world_size, (False,)).trace
    both = simulate(program, world_size, (True,)).trace
    first = ring_all_reduce_cost(8 * (2 * channels + 1), world_size=world_size, element_bytes=8)
    second = ring_all_reduce_cost(8 * 2 * channels, world_size=world_size, element_bytes=8)
    assert (len(forward.messages), forward.steps) == (first.messages, first.steps)
    assert tuple(forward.bytes_sent) == first.bytes_sent
    assert (len(both.messages), both.steps) == (first.messages + second.messages, first.steps + second.steps)
    assert both.total_bytes == first.total_bytes + second.total_bytes


@pytest.mark.parametrize("tracks", [True, False])
def test_evaluation_sends_nothing_and_is_the_plain_module(tracks: bool) -> None:
    inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    module = nn.BatchNorm1d(3, track_running_stats=tracks)
    module(inputs)
    module.eval()
    report = simulate(lambda comm: synchronize_batch_norm(comm, module)(inputs).detach(), 2)
    assert report.trace.messages == []
    assert all(torch.equal(outputs, module(inputs)) for outputs in report.results)


@pytest.mark.parametrize(
    "options", [{"affine": False}, {"momentum": None}, {"track_running_stats": False}, {"eps": 1.0}, {"momentum": 0.5}]
)
def test_settings_mean_what_they_mean_to_torch(options: dict) -> None:
    inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    module = nn.BatchNorm1d(3, dtype=torch.float64, **options)

    def program(comm):
        ours = synchronize_batch_norm(comm, copy.deepcopy(module))
        for scale in (1, 2, 3):
            ours(scale * inputs.tensor_split(2)[comm.rank])
        return ours.eval()(inputs), ours.state_dict()

    (outputs, state), _ = simulate(program, 2).results
    for scale in (1, 2, 3):
        module(scale * inputs)
    torch.testing.assert_close(outputs, module.eval()(inputs))
    torch.testing.assert_close(state, module.state_dict())


def test_a_batch_norm_with_two_names_is_synchronized_under_both() -> None:
    def program(comm):
        module = nn.Sequential(norm := nn.BatchNorm1d(2), nn.Tanh(), norm)
        synchronized = synchronize_batch_norm(comm, module)
        synchronized(torch.full((1, 2), float(comm.rank)))
        kinds = [type(part) for part in synchronized.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
        return set(kinds), len(list(synchronized.parameters())), synchronized[0].num_batches_tracked.item()

    assert simulate(program, 2).results == [({SyncBatchNorm}, 2, 2)] * 2


def uneven_example() -> tuple:
    """A classifier with batch normalization, and 24 digits for it."""
    digits = load_digits()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 10)).double()
    return model, digits.train_inputs[:24].double(), digits.train_labels[:24]


def test_a_loss_weighed_by_its_share_gives_the_gradient_of_the_joined_batch() -> None:
    model, inputs, labels = uneven_example()

    def program(comm, module):
        module, lengths = synchronize_batch_norm(comm, module), [16, 5, 3]
        part, own = inputs.split(lengths)[comm.rank], labels.split(lengths)[comm.rank]
        (functional.cross_entropy(module(part), own) * len(part) / len(inputs) * comm.world_size).backward()
        average_gradients(comm, module)
        return [parameter.grad for parameter in module.parameters()]

    split = simulate(program, 3, (copy.deepcopy(model),)).results[0]
    functional.cross_entropy(model(inputs), labels).backward()
    torch.testing.assert_close(split, [parameter.grad for parameter in model.parameters()], rtol=1e-8, atol=1e-10)


WEIGHERS = {
    "per parameter": lambda comm, module, length: average_gradients(comm, module, examples=length),
    "buckets": lambda comm, module, length: average_gradients_in_buckets(comm, module, examples=length),
}


@pytest.mark.parametrize("way", ["per parameter", "buckets", "wrapper", "zero 1", "zero 2", "zero 3"])
@pytest.mark.parametrize("lengths", [[16, 5, 3], [8, 8, 8]])
def test_to_weigh_the_gradient_is_too_late_and_refused(way: str, lengths: list) -> None:
    model, inputs, labels = uneven_example()

    def program(comm):
        module = synchronize_batch_norm(comm, copy.deepcopy(model))
        part, own = inputs.split(lengths)[comm.rank], labels.split(lengths)[comm.rank]
        wrapped = DataParallel(comm, module) if way == "wrapper" else module
        if way.startswith("zero"):
            wrapped = ZERO_STAGES[int(way[-1])](comm, module, partial(torch.optim.SGD, lr=0.1))
        wrapped.share = len(part) / len(inputs)
        functional.cross_entropy(module(part), own).backward()
        if way in WEIGHERS:
            WEIGHERS[way](comm, module, len(part))
        if way.startswith("zero"):
            wrapped.step()

    if lengths == [8, 8, 8]:
        simulate(program, 3)
    else:
        with pytest.raises(RankError, match="of the batch: with a SyncBatchNorm weigh the loss"):
            simulate(program, 3)


@pytest.mark.parametrize("runner", [simulate, run])
def test_it_works_inside_an_overlapped_backward_pass(runner) -> None:
    digits = load_digits()
    inputs, labels = digits.train_inputs[:24].double(), digits.train_labels[:24]
    torch.manual_seed(0)
    layers = [nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 10)]
    model = nn.Sequential(*layers).double()

    def program(comm, module):
        wrapped = DataParallel(comm, synchronize_batch_norm(comm, module), bucket_bytes=1)
        part, own = (tensor.tensor_split(comm.world_size)[comm.rank] for tensor in (inputs, labels))
        functional.cross_entropy(wrapped(part), own).backward()
        return [parameter.grad for parameter in module.parameters()]

    split = runner(program, 2, (copy.deepcopy(model),)).results[0]
    functional.cross_entropy(model(inputs), labels).backward()
    torch.testing.assert_close(split, [parameter.grad for parameter in model.parameters()], rtol=1e-8, atol=1e-10)


def test_a_large_mean_costs_no_digits_that_float32_has() -> None:
    values = torch.randn(64, 4, generator=torch.Generator().manual_seed(0)) + 1e4

    def program(comm):
        return SyncBatchNorm(comm, 4)(values.tensor_split(4)[comm.rank]).detach()

    wanted = nn.BatchNorm1d(4, dtype=torch.float64)(values.double()).detach()
    torch.testing.assert_close(torch.cat(simulate(program, 4).results).double(), wanted, rtol=0, atol=1e-3)


def test_torchs_own_wants_a_gpu() -> None:
    def program(comm):
        return nn.SyncBatchNorm(3)(torch.randn(4, 3))

    with pytest.raises(RankError, match="expected input tensor to be on GPU"):
        run(program, 2, device="cpu")


def test_a_batch_of_one_value_and_wrong_shapes_are_refused() -> None:
    with pytest.raises(RankError, match="two values or more in each channel, got 1"):
        simulate(lambda comm: SyncBatchNorm(comm, 2)(torch.ones(1 - comm.rank, 2)), 2)
    with pytest.raises(RankError, match=r"must be \[N, 2\] or \[N, 2, \*\], got \[4, 3\]"):
        simulate(lambda comm: SyncBatchNorm(comm, 2)(torch.ones(4, 3)), 2)


@pytest.fixture(scope="module")
def activations() -> torch.Tensor:
    """What the first layer of a classifier makes of the digits: [1437, 32]."""
    return load_digits().train_inputs @ torch.randn(64, 32, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("batch_size", [2, 4, 8, 32])
def test_small_batches_scatter_as_computed(activations: torch.Tensor, batch_size: int) -> None:
    measured, computed = statistics_scatter(activations, batch_size), expected_scatter(activations, batch_size)
    assert measured == pytest.approx(computed, rel=0.03)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(sum), st.integers(0, 99))
def test_the_variance_inside_parts_and_between_them_is_all_of_it(lengths: list, seed: int) -> None:
    values = torch.randn(sum(lengths), 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    inside, between = variance_parts(values, lengths)
    torch.testing.assert_close(inside + between, values.var(0, correction=0))


def test_micro_batches_miss_the_variance_between_them_and_move_running_statistics_often(activations) -> None:
    batch, momentum, count = activations[:32], 0.1, 8
    whole, split = (nn.BatchNorm1d(32, momentum=momentum) for _ in range(2))
    whole(batch)
    for micro_batch in batch.split(4):
        split(micro_batch)
    old_part = (1 - momentum) ** count
    weights = torch.tensor([momentum * (1 - momentum) ** (count - 1 - n) for n in range(count)])
    means, variances = (torch.stack([getattr(part, f)(0) for part in batch.split(4)]) for f in ("mean", "var"))
    torch.testing.assert_close(split.running_mean, weights @ means)
    torch.testing.assert_close(split.running_var, old_part + weights @ variances)
    assert weights.sum().item() == pytest.approx(running_weight(momentum, count)) != running_weight(momentum, 1)
    inside, _ = variance_parts(batch, [4] * count)
    assert (inside < batch.double().var(0, correction=0)).all()
    torch.testing.assert_close(inside, torch.stack([p.double().var(0, correction=0) for p in batch.split(4)]).mean(0))


def test_synchronized_statistics_do_not_care_who_holds_what_and_own_ones_do() -> None:
    digits = load_digits()
    loss = {}
    for synchronized in (False, True):
        for sort in (False, True):
            options = {"synchronized": synchronized, "sort": sort, "steps": 40}
            loss[synchronized, sort] = simulate(train_with_batch_norm, 4, (digits, 8), options).results[0][0]
    assert loss[True, True] == pytest.approx(loss[True, False], rel=1e-3)
    assert loss[False, True] > 1.5 * loss[False, False]


def test_tiny_parts_train_worse_alone_than_synchronized() -> None:
    digits = load_digits()
    alone, together = (
        simulate(train_with_batch_norm, 4, (digits, 2), {"synchronized": s, "steps": 40}).results[0]
        for s in (False, True)
    )
    assert alone[0] > 1.5 * together[0]
    assert alone[1] < together[1] - 0.1


def test_statistics_that_are_estimated_again_are_one_for_all_ranks_and_do_not_mend_the_training() -> None:
    alone, together = (
        simulate(train_with_batch_norm, 4, (load_digits(), 2), {"synchronized": synchronized, "steps": 40}).results
        for synchronized in (False, True)
    )
    again = [rank.loss_again for rank in alone]
    assert max(again) - min(again) < 1e-5 < max(rank.loss for rank in alone) - min(rank.loss for rank in alone)
    assert min(again) > 1.5 * max(rank.loss for rank in together)


def test_one_value_has_no_variance_to_scatter() -> None:
    for function in (statistics_scatter, expected_scatter):
        with pytest.raises(ValueError, match="batch_size must be 2 or more"):
            function(torch.ones(4, 2), 1)


def test_a_synchronized_layer_keeps_the_hooks_and_the_mode_of_the_one_it_replaces() -> None:
    def program(comm):
        module, calls = nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2).eval()), []
        module[0].register_forward_pre_hook(lambda *_: calls.append("before"))
        module[0].register_forward_hook(lambda *_, **__: calls.append("after"), with_kwargs=True)
        module[0].register_full_backward_hook(lambda *_: calls.append("backward"))
        for _ in range(2):  # a cell that is run again
            module = synchronize_batch_norm(comm, module)
        module(torch.arange(4.0).view(2, 2).requires_grad_()).sum().backward()
        return calls, module[0].training, module[1].training, type(module[0]).__name__

    assert simulate(program, 2).results == [(["before", "after", "backward"], True, False, "SyncBatchNorm")] * 2


@pytest.mark.parametrize("make", [SyncBatchNorm, lambda comm, count: nn.SyncBatchNorm(count)])
def test_uneven_shares_are_refused_in_training_and_allowed_in_evaluation(make) -> None:
    def program(comm, training: bool):
        model = DataParallel(comm, nn.Sequential(make(comm, 2)).train(training))
        model.share = [0.25, 0.75][comm.rank]

    simulate(program, 2, (False,))
    with pytest.raises(RankError, match="of the batch: with a SyncBatchNorm weigh the loss"):
        simulate(program, 2, (True,))
