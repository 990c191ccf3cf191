"""Nothing is lost, in whatever way rows come: in the same memory or made anew, whole or empty, resumed or not."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import RankError, simulate
from course_lib.compression import (
    CompressedAllReduce,
    CompressedSums,
    MaskedAllReduce,
    OneBit,
    PowerSGD,
    TopK,
    magnitude_masks,
)
from course_lib.data_parallel import DataParallel, average_gradients, average_gradients_in_buckets, bucket_plan
from course_lib.data_parallel.averaging import numbered
from course_lib.mesh import Mesh, MeshTraining, train_on_mesh
from course_lib.precision import all_reduce_in
from course_lib.tasks import GPT, GPTConfig

REMEDIES = {
    "top-k": lambda parameters: CompressedAllReduce(TopK(0.3)),
    "one bit": lambda parameters: CompressedAllReduce(OneBit()),
    "PowerSGD": lambda parameters: PowerSGD(parameters, rank=1),
}
WAYS = ["overlap", "after backward", "per parameter", "buckets"]
BUCKET_BYTES = 40


def module_of(shapes: list) -> nn.ParameterList:
    return nn.ParameterList([nn.Parameter(torch.zeros(shape)) for shape in shapes])


def gradients_of(module: nn.Module, rank: int, step: int) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(100 * step + rank)
    return [torch.randint(-60, 61, parameter.shape, generator=draw).float() for parameter in module.parameters()]


def step_of(comm, way: str, module: nn.Module, all_reduce):
    """A function that takes a step's number, and leaves the average of the ranks' gradients of it in the module."""
    wrapped = way in ("overlap", "after backward")
    if wrapped:
        DataParallel(comm, module, BUCKET_BYTES, overlap=way == "overlap", all_reduce=all_reduce)

    def step(number: int) -> None:
        module.zero_grad()
        gradients = gradients_of(module, comm.rank, number)
        sum((p * g).sum() for p, g in zip(module.parameters(), gradients, strict=True)).backward()
        if way == "per parameter":
            average_gradients(comm, module, all_reduce=all_reduce)
        if way == "buckets":
            average_gradients_in_buckets(comm, module, all_reduce=all_reduce, bucket_bytes=BUCKET_BYTES)

    return step


def kept_of(module: nn.Module, way: str, all_reduce) -> list[torch.Tensor]:
    """What is kept of each parameter's gradient."""
    parameters = list(module.parameters())
    if isinstance(all_reduce, PowerSGD) or way == "per parameter":
        numbers = {number: (number,) for number in range(len(parameters))}
    else:
        numbers = {place: bucket.numbers for place, bucket in enumerate(bucket_plan(parameters, BUCKET_BYTES))}
    kept = [torch.zeros_like(parameter) for parameter in parameters]
    for place, row in all_reduce.residuals.items():
        pieces = row.flatten().split([parameters[number].numel() for number in numbers[place]])
        for number, piece in zip(numbers[place], pieces, strict=True):
            kept[number] = piece.view_as(parameters[number])
    return kept


def sent_and_kept(comm, remedy: str, way: str, shapes: list, steps: int) -> tuple[list, list, list]:
    """Sums over the steps for each parameter: what arrived, what this rank gave, and what it keeps at the end."""
    module = module_of(shapes)
    all_reduce = REMEDIES[remedy](list(module.parameters()))
    step = step_of(comm, way, module, all_reduce)
    arrived, given = ([torch.zeros_like(parameter) for parameter in module.parameters()] for _ in range(2))
    for number in range(steps):
        step(number)
        for place, parameter in enumerate(module.parameters()):
            arrived[place] += parameter.grad.detach()
            given[place] += gradients_of(module, comm.rank, number)[place] / comm.world_size
    return arrived, given, kept_of(module, way, all_reduce)


SHAPES = st.lists(st.sampled_from([(0,), (0, 3), (1,), (4,), (3, 4), (6, 2), (2, 3, 2), (13,)]), min_size=1, max_size=4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("remedy", REMEDIES)
@settings(max_examples=4)
@given(ranks=st.sampled_from([1, 3, 5]), shapes=SHAPES)
def test_what_was_sent_and_what_is_kept_are_all_gradients(remedy: str, way: str, ranks: int, shapes: list) -> None:
    check_that_nothing_is_lost(remedy, way, ranks, shapes)


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("remedy", REMEDIES)
@settings(max_examples=60)
@given(ranks=st.integers(1, 6), shapes=SHAPES)
def test_nothing_is_lost_on_many_shapes_and_ranks(remedy: str, way: str, ranks: int, shapes: list) -> None:
    check_that_nothing_is_lost(remedy, way, ranks, shapes)


def check_that_nothing_is_lost(remedy: str, way: str, ranks: int, shapes: list) -> None:
    results = simulate(sent_and_kept, ranks, (remedy, way, shapes, 4)).results
    for place in range(len(shapes)):
        arrived = results[0][0][place]
        assert all(torch.equal(result[0][place], arrived) for result in results)
        given, kept = (sum(result[part][place] for result in results) for part in (1, 2))
        torch.testing.assert_close(arrived + kept, given, rtol=1e-4, atol=1e-2)


def interrupted(comm, remedy: str, way: str, shapes: list, stop: int | None) -> list[list[torch.Tensor]]:
    """The gradients of four steps; before step `stop` another all-reduce goes on from the state of the first."""
    module = module_of(shapes)
    all_reduce = REMEDIES[remedy](list(module.parameters()))
    step, found = step_of(comm, way, module, all_reduce), []
    for number in range(4):
        if number == stop:
            state = copy.deepcopy(all_reduce.state_dict())
            module = module_of(shapes)
            all_reduce = REMEDIES[remedy](list(module.parameters()))
            all_reduce.load_state_dict(state)
            step = step_of(comm, way, module, all_reduce)
        step(number)
        found.append([parameter.grad.detach().clone() for parameter in module.parameters()])
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_training_goes_on_from_the_state_to_the_last_bit(remedy: str, way: str) -> None:
    shapes = [(4, 5), (7,), (3, 4), (0,), (5,)]
    through, resumed = (simulate(interrupted, 3, (remedy, way, shapes, stop)).results[0] for stop in (None, 2))
    for ours, theirs in zip(resumed, through, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_memory_of_its_own_is_known_and_memory_made_anew_is_refused() -> None:
    def program(comm, anew: bool):
        all_reduce, rows = CompressedAllReduce(TopK(0.5)), [torch.zeros(4), torch.zeros(6)]
        for step in range(3):
            for place in range(2):
                row = torch.zeros(4 + 2 * place) if anew else rows[place]
                all_reduce(comm, row.fill_(step))
        return list(all_reduce.residuals)

    assert simulate(program, 2, (False,)).results == [[-1, -2]] * 2
    with pytest.raises(RankError, match=r"one from before is gone.*say which row it is: numbered\(row, 0\)"):
        simulate(program, 2, (True,))


def test_rows_that_share_a_number_and_states_of_another_kind_are_refused() -> None:
    def two_lengths(comm):
        all_reduce = CompressedAllReduce(TopK(0.5))
        for length in (4, 6):
            all_reduce(comm, numbered(torch.zeros(length), 0))

    with pytest.raises(RankError, match=r"row 0 had shape \(4,\), got \(6,\)"):
        simulate(two_lengths, 1)
    with pytest.raises(
        ValueError,
        match=r"CompressedSums has \['residuals', 'scale', 'sum_residuals'\], got \['residuals', 'scale'\]",
    ):
        CompressedSums(TopK(0.5)).load_state_dict(CompressedAllReduce(TopK(0.5)).state_dict())


@pytest.mark.parametrize("make", [lambda: CompressedAllReduce(TopK(0.5)), lambda: CompressedSums(TopK(0.5))])
def test_a_row_of_another_dtype_is_refused(make) -> None:
    with pytest.raises(RankError, match=r"a row to compress must be of float32, got torch.float64"):
        simulate(lambda comm: make()(comm, torch.zeros(3, dtype=torch.float64)), 1)
    rounded = all_reduce_in(torch.float16, all_reduce=make())
    with pytest.raises(RankError, match=r"a row to compress must be of float32, got torch.float16"):
        simulate(lambda comm: rounded(comm, torch.zeros(3)), 1)


def test_a_row_in_which_power_sgd_finds_no_gradients_is_refused() -> None:
    def program(comm):
        PowerSGD(nn.Linear(4, 4).parameters(), rank=1)(comm, torch.zeros(20))

    with pytest.raises(
        RankError, match="must hold gradients of the given parameters alone, got 20 numbers, 0 of theirs"
    ):
        simulate(program, 1)


@pytest.mark.parametrize("way", WAYS)
def test_masks_hold_in_every_way_of_averaging(way: str) -> None:
    def program(comm):
        module = nn.ParameterList([nn.Parameter(torch.arange(1.0, 13).view(3, 4)), nn.Parameter(torch.zeros(2))])
        all_reduce = MaskedAllReduce(magnitude_masks(module, 0.5))
        step_of(comm, way, module, all_reduce)(0)
        return module[0].grad.count_nonzero().item()

    assert all(count <= 6 for count in simulate(program, 3).results)


def test_on_a_mesh_each_parameter_meets_its_own_residual_again() -> None:
    torch.manual_seed(0)
    whole = GPT(GPTConfig(vocabulary=8, context=4, width=4, heads=2, layers=1))
    batches = [(torch.randint(8, (4, 4)), torch.randint(8, (4, 4)))] * 3

    def program(comm, share: float):
        training = MeshTraining(micro_batches=2, all_reduce=CompressedAllReduce(TopK(share)))
        result = train_on_mesh(comm, Mesh(data=2), whole, batches, training)
        return len(training.all_reduce.residuals), result.losses

    everything, little = (simulate(program, 2, (share,)).results for share in (1.0, 0.3))
    plain = simulate(lambda comm: train_on_mesh(comm, Mesh(data=2), whole, batches, MeshTraining()).losses, 2).results
    assert everything[0][1] == pytest.approx(plain[0], rel=1e-4)
    assert little[0][0] == len(list(whole.parameters()))
