"""DiLoCo's outer step: by hand, its law, beside PyTorch's SGD, and on the wire."""

from itertools import islice, pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from course_lib import simulate
from course_lib.compression import CompressedAllReduce, OuterStep, TopK
from course_lib.compression.experiments import on_all_cores
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.tasks import digit_batches, digits_model, load_digits


class Row(nn.Module):
    """A module of one row of parameters."""

    def __init__(self, *numbers: float) -> None:
        super().__init__()
        self.row = nn.Parameter(torch.tensor(numbers))


def moved(comm, starts: list[float], changes: list[list[list[float]]], **settings) -> list[list[float]]:
    """The parameters after each outer step; `changes` has what each rank's inner steps add, by outer step."""
    module = Row(*starts)
    outer, seen = OuterStep(module, **settings), []
    for by_rank in changes:
        with torch.no_grad():
            module.row += torch.tensor(by_rank[comm.rank])
        outer(comm)
        seen.append(module.row.tolist())
    return seen


def test_two_sites_by_hand() -> None:
    # From 10 to 8 and to 4: the outer gradient is 4, and 0.5 * (4 + 0.5 * 4) = 3.
    # Then nobody moves, and momentum goes on: 0.5 * 0.5 * 2 = 0.5.
    changes = [[[-2.0], [-6.0]], [[0.0], [0.0]]]
    report = simulate(moved, 2, args=([10.0], changes), kwargs={"rate": 0.5, "momentum": 0.5})
    assert report.results == [[[7.0], [6.5]]] * 2


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_a_rate_of_one_without_momentum_leaves_the_mean_of_all(world_size: int) -> None:
    changes = [[[60.0 * rank, -120.0 * (rank + 1)] for rank in range(world_size)]]
    report = simulate(moved, world_size, args=([6.0, 0.0], changes), kwargs={"rate": 1.0, "momentum": 0.0})
    mean = torch.tensor(changes[0]).mean(0) + torch.tensor([6.0, 0.0])
    assert all(torch.allclose(torch.tensor(seen[0]), mean) for seen in report.results)


@pytest.mark.parametrize(("rate", "momentum"), [(0.7, 0.9), (1.0, 0.0), (0.3, 0.5)])
def test_it_is_pytorchs_nesterov_on_the_outer_gradients(rate: float, momentum: float) -> None:
    changes = torch.randint(-9, 10, (5, 2, 3), generator=torch.Generator().manual_seed(0)).float()
    settings = {"rate": rate, "momentum": momentum}
    seen = simulate(moved, 2, args=([1.0, 2.0, 3.0], changes.tolist()), kwargs=settings).results[1]
    row = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    theirs = torch.optim.SGD([row], lr=rate, momentum=momentum, nesterov=momentum > 0)
    for change, ours in zip(changes, seen, strict=True):
        row.grad = -change.mean(0)
        theirs.step()
        torch.testing.assert_close(torch.tensor(ours), row.detach())


def train_at_site(comm, period: int | None, rate: float, momentum: float, steps: int) -> list[float]:
    """A site's parameters after so many inner steps; without a period, gradients are averaged in every step."""
    module, digits = digits_model(), load_digits()
    inner = torch.optim.AdamW(module.parameters(), lr=0.004)
    outer = OuterStep(module, rate=rate, momentum=momentum)
    batches = islice(digit_batches(16, rank=comm.rank, digits=digits), steps)
    for step, (inputs, labels) in enumerate(batches, start=1):
        inner.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        if period is None:
            average_gradients_in_buckets(comm, module)
        inner.step()
        if period is not None and step % period == 0:
            outer(comm)
    return parameters_to_vector(module.parameters()).tolist()


@pytest.mark.parametrize("world_size", [1, 3, 4])
@pytest.mark.parametrize("period", [None, 1, 2, 3])
def test_a_period_of_h_sends_an_hth_of_the_bytes(world_size: int, period: int | None) -> None:
    report = simulate(train_at_site, world_size, args=(period, 0.7, 0.9, 6))
    parameters = 65 * 32 + 33 * 10
    averagings = 6 // (period or 1)
    total = sum(report.trace.bytes_sent)
    assert total == averagings * 2 * (world_size - 1) * 4 * parameters
    assert all(one == other for one, other in pairwise(report.results))  # the same parameters everywhere


def test_one_rank_that_averages_after_every_step_trains_as_if_alone() -> None:
    alone, averaged = (simulate(train_at_site, 1, args=(period, 1.0, 0.0, 5)).results[0] for period in (None, 1))
    assert alone == pytest.approx(averaged, rel=1e-4, abs=1e-6)


def test_what_a_compressed_outer_step_leaves_out_comes_later() -> None:
    def program(comm):
        module = Row(0.0, 0.0)
        compressed = CompressedAllReduce(TopK(0.5))
        outer = OuterStep(module, rate=1.0, momentum=0.0, all_reduce=compressed)
        for change in ([8.0, 2.0], [0.0, 0.0]):
            with torch.no_grad():
                module.row += torch.tensor(change)
            outer(comm)
        return module.row.tolist()

    assert simulate(program, 2).results == [[8.0, 2.0]] * 2


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"momentum": 1.0}, {"momentum": -0.1}])
def test_rates_and_momenta_that_cannot_train_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="rate must be more than 0 and momentum from 0 to below 1"):
        OuterStep(Row(1.0), **settings)


@pytest.mark.parametrize("jobs", [0, 1, 2, 5])
def test_what_all_cores_did_comes_in_the_order_of_the_jobs(jobs: int) -> None:
    assert on_all_cores(lambda job: job * job, [(job,) for job in range(jobs)]) == [job * job for job in range(jobs)]
