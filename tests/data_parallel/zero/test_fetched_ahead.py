"""Units that are fetched ahead: when each sets out, how many are whole, and the gradients of one process."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from course_lib import Network, RankError, Report, run, simulate
from course_lib.data_parallel import LayerCost, sharded_step_seconds
from course_lib.data_parallel.clipping import clip_parts_
from course_lib.data_parallel.experiments import timed_sharded_step
from course_lib.data_parallel.zero import FetchedAhead, zero_elements_sent
from course_lib.precision import unscale

INPUTS = torch.randn(10, 3, generator=torch.Generator().manual_seed(1))


def chain() -> list[nn.Module]:
    """Four units of 20, 24, 35 and 16 parameters."""
    torch.manual_seed(0)
    return [nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in ((3, 5), (5, 4), (4, 7), (7, 2))]


def mean_square(output: torch.Tensor) -> torch.Tensor:
    return output.square().mean()


def one_process(units: Sequence[nn.Module], inputs: torch.Tensor) -> list[torch.Tensor]:
    """The gradient of each unit as one row."""
    mean_square(nn.Sequential(*units)(inputs)).backward()
    return [torch.cat([parameter.grad.flatten() for parameter in unit.parameters()]) for unit in units]


def shards_of(comm, ahead: bool, make: Callable[[], list[nn.Module]], inputs: torch.Tensor):
    """The gradients of this rank's shards, and how many units were whole at most."""
    sharded = FetchedAhead(comm, make(), ahead=ahead)
    part = inputs.tensor_split(comm.world_size)[comm.rank]
    sharded.backward(part, mean_square, len(part) / len(inputs))
    return [shard.grad for shard in sharded.shards], sharded.most_whole


# The small case, drawn by hand


class Slow(nn.Module):
    """A parameter of 1,000 numbers; either pass takes a second."""

    def __init__(self, comm, name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1000))
        self.comm, self.name = comm, name

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.comm.compute(1.0, label=f"forward {self.name}")
        return inputs + self.weight.sum()


def slow_step(comm, ahead: bool) -> None:
    sharded = FetchedAhead(comm, [Slow(comm, name) for name in "012"], ahead=ahead)
    sharded.backward(torch.zeros(1), torch.sum)


def slow_report(ahead: bool, rules: str = "gloo") -> Report:
    """Two ranks; a gather and a reduce-scatter are one message each way of 2 kB, which takes half a second."""
    return simulate(slow_step, 2, args=(ahead,), network=Network(latency_s=0.0, bytes_per_s=4000), rules=rules)


# compute   :   0   :   1   :   2   :   2   :   1   :   0   :
# gather    : 0 : 1     2           1       0
# reduce                                      2       1       0 :
def test_the_next_unit_sets_out_when_one_begins_to_compute() -> None:
    for rank in range(2):
        calls = [call for call in slow_report(ahead=True).trace.collectives if call.rank == rank]
        assert [(call.name, call.begun_s) for call in calls] == [
            ("gather 0", 0.0),
            ("gather 1", 0.5),
            ("gather 2", 1.5),
            ("gather 1", 3.5),
            ("reduce 2", 4.5),
            ("gather 0", 5.0),
            ("reduce 1", 5.5),
            ("reduce 0", 6.5),
        ]


def test_without_it_each_unit_sets_out_when_it_is_needed() -> None:
    calls = [call for call in slow_report(ahead=False).trace.collectives if call.rank == 1]
    assert [call.begun_s for call in calls if call.name.startswith("gather")] == [0.0, 1.5, 3.0, 6.0, 8.0]


@pytest.mark.parametrize("rules", ["gloo", "nccl"])
def test_six_messages_of_eight_hide_behind_six_seconds_of_computing_or_none(rules) -> None:
    seconds = [slow_report(ahead, rules).seconds for ahead in (True, False)]
    assert seconds == [7.0, 10.0]


def test_a_gather_begins_before_the_unit_before_it_has_computed() -> None:
    trace = slow_report(ahead=True).trace
    ends = [span.end_s for span in trace.spans if span.rank == 0]
    gathers = [call.begun_s for call in trace.collectives if call.rank == 0 and call.name.startswith("gather")]
    hidden = gathers[1:]  # the first has nothing to hide behind; unit 2 is whole at the turn
    assert all(begun_s < end_s for begun_s, end_s in zip(hidden, [*ends[:2], *ends[3:]], strict=False))


# The law over a grid


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("execute", [simulate, run])
def test_gradients_are_those_of_one_process(execute, ranks, ahead) -> None:
    results = execute(shards_of, ranks, args=(ahead, chain, INPUTS)).results
    for number, right in enumerate(one_process(chain(), INPUTS)):
        torch.testing.assert_close(torch.cat([shards[number] for shards, _ in results]), right)
    assert {most for _, most in results} == {2 if ahead else 1}


@pytest.mark.parametrize("ranks", [3, 5])
def test_a_rank_without_examples_takes_part(ranks) -> None:
    results = simulate(shards_of, ranks, args=(True, chain, INPUTS[:2])).results
    for number, right in enumerate(one_process(chain(), INPUTS[:2])):
        torch.testing.assert_close(torch.cat([shards[number] for shards, _ in results]), right)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("ahead", [True, False])
def test_a_step_sends_what_stage_three_sends_less_one_gather_of_the_last_unit(ranks, ahead) -> None:
    sent = simulate(shards_of, ranks, args=(ahead, chain, INPUTS)).trace.bytes_sent
    stage_3, last = zero_elements_sent([20, 24, 35, 16], ranks, 3), zero_elements_sent([16], ranks, 3)
    third = [  # of stage 3's two gathers and a reduce-scatter of the last unit, one gather
        16 - len(torch.empty(16).tensor_split(ranks)[(rank + 1) % ranks]) for rank in range(ranks)
    ]
    assert sum(third) * 3 == sum(last)
    assert sent == [4 * (elements - less) for elements, less in zip(stage_3, third, strict=True)]


# The formula of its time


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_simulated_step_takes_the_time_of_the_formula(ranks, count, ahead) -> None:
    rng = np.random.default_rng([ranks, count])
    for bytes_per_s in (300, 3000, 30_000):  # the wire decides, both do, computing decides
        units = [LayerCost(4 * ranks * int(rng.integers(1, 300)), *rng.uniform(0, 1, 2)) for _ in range(count)]
        links = Network(latency_s=rng.uniform(0, 0.2), bytes_per_s=bytes_per_s)
        options = {"args": (units,), "kwargs": {"ahead": ahead}, "network": links}
        report = simulate(timed_sharded_step, ranks, **options, ranks="threads")
        assert report.seconds == pytest.approx(
            sharded_step_seconds(units, network=links, world_size=ranks, ahead=ahead), rel=1e-12
        )


def test_what_hides_costs_nothing_but_the_first_gather_and_the_last_gradient() -> None:
    units = [LayerCost(parameter_bytes=4000, forward_s=2.0, backward_s=4.0)] * 5
    links = Network(latency_s=0.5, bytes_per_s=4000)  # an exchange takes a second
    seconds = [sharded_step_seconds(units, network=links, world_size=2, ahead=ahead) for ahead in (True, False)]
    assert seconds == [30.0 + 2, 30.0 + 14]


@pytest.mark.parametrize(("units", "ranks", "word"), [([], 2, "units"), ([LayerCost(4, 1.0, 1.0)], 0, "world_size")])
def test_a_formula_without_units_or_ranks_is_refused(units, ranks, word) -> None:
    with pytest.raises(ValueError, match=f"{word} must be at least 1, got 0"):
        sharded_step_seconds(units, network=Network(), world_size=ranks)


# What is whole, by living memory


class Watched(FetchedAhead):
    """Notes how many rows and gradients of rows are alive whenever a message sets out."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.rows, self.gradients, self.alive = [], [], []

    def _fetch(self, number: int) -> None:
        super()._fetch(number)
        self.rows.append(StorageWeakRef(self._rows[number].untyped_storage()))
        self.count()

    def _start_reduce(self, number: int, gradient: torch.Tensor) -> None:
        super()._start_reduce(number, gradient)
        self.gradients.append(StorageWeakRef(gradient.untyped_storage()))
        self.count()

    def count(self) -> None:
        kinds = {each.cdata for each in self.rows if not each.expired()}, self.gradients
        self.alive.append((len(kinds[0]), sum(not each.expired() for each in kinds[1])))


def watched(comm, ahead: bool) -> list[tuple[int, int]]:
    sharded = Watched(comm, [*chain(), *[nn.Linear(2, 2) for _ in range(3)]], ahead=ahead)
    sharded.backward(INPUTS, mean_square)
    return sharded.alive


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("execute", [simulate, run])
def test_two_rows_and_two_gradients_are_alive_at_most(execute, ahead) -> None:
    for alive in execute(watched, 3, args=(ahead,)).results:
        assert max(rows for rows, _ in alive) == (2 if ahead else 1)
        assert max(gradients for _, gradients in alive) <= 2


# Against PyTorch's own optimizer on one process, and other kinds of modules


def trained(comm, make: Callable[[], list[nn.Module]], inputs: torch.Tensor) -> list[torch.Tensor]:
    sharded = FetchedAhead(comm, make())
    optimizer = torch.optim.Adam(sharded.shards, lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        for half in inputs.tensor_split(2):  # accumulated: a gradient is added to the one that is there
            part = half.tensor_split(comm.world_size)[comm.rank]
            sharded.backward(part, mean_square, len(part) / len(inputs))
        optimizer.step()
    return [shard.detach() for shard in sharded.shards]


def letters() -> list[nn.Module]:
    torch.manual_seed(0)
    return [nn.Embedding(7, 3), nn.LayerNorm(3), nn.Linear(3, 2, dtype=torch.float32)]


@pytest.mark.parametrize(("make", "inputs"), [(chain, INPUTS), (letters, torch.arange(9) % 7)])
def test_four_steps_of_adam_are_those_of_one_process(make, inputs) -> None:
    model = nn.Sequential(*make())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        mean_square(model(inputs)).backward()
        optimizer.step()
    results = simulate(trained, 3, args=(make, inputs)).results
    for number, unit in enumerate(model):
        row = nn.utils.parameters_to_vector(unit.parameters()).detach()
        torch.testing.assert_close(torch.cat([shards[number] for shards in results]), row)


def test_the_loss_is_that_of_the_part_and_the_modules_stay_as_they_are() -> None:
    units = chain()

    def program(comm):
        loss = FetchedAhead(comm, units).backward(INPUTS, mean_square)
        return loss, [parameter.grad for unit in units for parameter in unit.parameters()]

    loss, gradients = simulate(program, 1).results[0]
    assert (loss.item(), gradients) == (mean_square(nn.Sequential(*units)(INPUTS)).item(), [None] * 8)


# Units of other kinds


class Tied(nn.Module):
    """Two layers with one weight, a third that nobody calls, and an input that gets no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.unused = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(inputs.detach()).tanh())


class Identity(nn.Module):
    """A parameter that nobody uses."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs


def other_kinds() -> list[nn.Module]:
    torch.manual_seed(0)
    turned = nn.Linear(3, 3)
    turned.weight = nn.Parameter(turned.weight.detach().T)  # its numbers do not lie in order
    return [Identity(), nn.Linear(3, 3), Tied(), turned, Identity()]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_tied_unused_cut_off_and_turned_parameters_have_the_gradients_of_one_process(ranks) -> None:
    units = other_kinds()
    mean_square(nn.Sequential(*units)(INPUTS)).backward()
    results = simulate(shards_of, ranks, args=(True, other_kinds, INPUTS)).results
    for number, unit in enumerate(units):
        whole = [torch.zeros_like(each) if each.grad is None else each.grad for each in unit.parameters()]
        right = torch.cat([each.flatten() for each in whole])
        torch.testing.assert_close(torch.cat([shards[number] for shards, _ in results]), right)


def test_the_second_forward_pass_draws_the_same_random_numbers() -> None:
    def units() -> list[nn.Module]:
        return [nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)) for _ in range(3)]

    def program(comm):
        sharded, plain = FetchedAhead(comm, made := units()), nn.Sequential(*made)
        torch.manual_seed(5)
        loss = sharded.backward(INPUTS, mean_square)
        after = torch.rand(1)
        torch.manual_seed(5)
        plain_loss = mean_square(plain(INPUTS))
        plain_loss.backward()
        right = [torch.cat([each.grad.flatten() for each in unit.parameters()]) for unit in plain]
        return [loss, after, *[shard.grad for shard in sharded.shards]], [plain_loss.detach(), torch.rand(1), *right]

    torch.testing.assert_close(*simulate(program, 1).results[0])


# What goes on behind it


@pytest.mark.parametrize("execute", [simulate, run])
def test_after_a_pass_that_ended_with_an_error_the_next_one_fetches_what_the_shards_are_now(execute) -> None:
    def changed(comm, error: bool) -> list[torch.Tensor]:
        sharded = FetchedAhead(comm, chain())
        if error:
            with pytest.raises(ZeroDivisionError):
                sharded.backward(INPUTS, lambda output: 1 / 0)
        for shard in sharded.shards:
            shard.data *= 2
        sharded.backward(INPUTS, mean_square)
        return [shard.grad.detach().clone() for shard in sharded.shards]

    after_error, alone = (execute(changed, 2, args=(error,)).results for error in (True, False))
    torch.testing.assert_close(after_error, alone)


def test_ranks_agree_about_an_overflow_of_one_and_on_the_norm_of_all() -> None:
    def program(comm):
        sharded = FetchedAhead(comm, chain())
        sharded.backward(INPUTS, mean_square)
        norm = clip_parts_(sharded.shards, 1e9)
        with pytest.raises(RuntimeError, match="clip_grad_norm_ sees only the part"):
            nn.utils.clip_grad_norm_(sharded.shards, 1.0)
        sharded.shards[0].grad[0] = torch.inf if comm.rank == 1 else 0.0
        return norm, unscale([shard.grad for shard in sharded.shards], 2.0)

    norm = torch.cat(one_process(chain(), INPUTS)).norm().item()
    assert simulate(program, 3).results == [(pytest.approx(norm), False)] * 3


# What is refused


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (nn.Sequential(nn.LeakyReLU(0.1, inplace=True), nn.Linear(3, 3)), "must not change its input in place"),
        (nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 3)), "must give one tensor, unit 0 gives a tuple"),
    ],
)
def test_a_unit_that_cannot_run_twice_or_gives_more_is_refused(first, error) -> None:
    with pytest.raises(RankError, match=error):
        simulate(shards_of, 2, args=(True, lambda: [first, nn.Linear(3, 3)], INPUTS))


def _shared() -> list[nn.Module]:
    first = nn.Linear(3, 3)
    return [first, nn.Sequential(nn.Tanh(), first)]


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ([], "units must be at least 1, got 0"),
        ([nn.Linear(3, 3), nn.Tanh()], r"unit 1 \(Tanh\)"),
        ([nn.BatchNorm1d(3)], r"no buffers, unit 0 \(BatchNorm1d\)"),
        ([nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3).double())], "of one dtype"),
        ([nn.Linear(3, 3).requires_grad_(False)], "want a gradient"),
        (_shared(), "must not share parameters"),
    ],
)
def test_units_whose_parameters_fit_into_no_row_of_their_own_are_refused(units, words) -> None:
    with pytest.raises(RankError, match=words):
        simulate(partial(_made, units=units), 1)


def _made(comm, units: list[nn.Module]) -> None:
    FetchedAhead(comm, units)
