"""Asynchronous 1F1B: its order, the versions of weights that it uses and keeps, and the gradients that come of them."""

import itertools
from math import isnan, lcm

import pytest
import torch
from torch import nn
from torch.func import functional_call

from course_lib import run, simulate
from course_lib.pipeline import OperationTimes, check_schedule, one_forward_one_backward, pipeline_timeline
from course_lib.pipeline.pipedream import (
    WEIGHT_RULES,
    asynchronous_1f1b,
    batches_under_way,
    digit_stages,
    peak_versions,
    train_asynchronously,
    train_digits,
    versions_used,
)

WIDTH, ROWS, RATE = 5, 3, 0.125
SHAPES = [(1,), (3,), (1, 1), (1, 1, 1, 1), (2, 1), (1, 2), (2, 3), (1, 2, 1)]


def module(stage):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stage)
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()).double()


def batches(count):
    draw = torch.Generator().manual_seed(9)
    return [torch.randn(ROWS, WIDTH, generator=draw, dtype=torch.float64) for _ in range(count)]


def loss(y, number):
    return (y - number % 2).square().mean()


def train(comm, replicas, count, rule):
    schedule = asynchronous_1f1b(replicas, count)
    gradients, history = {}, {}

    def observe(batch, found, versions):
        gradients[batch] = [gradient.clone() for gradient in found]
        kept = {v: {name: w.detach().clone() for name, w in weights.items()} for v, weights in versions.items()}
        history.update({v: weights for v, weights in kept.items() if v not in history})

    rank = train_asynchronously(
        comm,
        schedule,
        module(schedule.stage_of(comm.rank)),
        batches(count),
        lambda stage, number: (ROWS, WIDTH),
        loss,
        learning_rate=RATE,
        rule=rule,
        observe=observe,
    )
    return gradients, history, rank.losses, rank.peak_weight_bytes, rank.module


def rounds(replicas, count=10):
    return count * lcm(*replicas)


def gradients_at(schedule, results, used, batch):
    """One process: the loss of a batch with each stage's weights of the version that the stage used."""
    stages, weights, x = [module(s) for s in range(schedule.stages)], [], batches(schedule.micro_batches)[batch]
    for stage, part in enumerate(stages):
        history = results[schedule.rank_of(stage, batch)][1]
        own = {n: w.clone().requires_grad_() for n, w in history[used[stage, batch].forward].items()}
        weights.append(list(own.values()))
        x = functional_call(part, own, (x,))
    found = torch.autograd.grad(loss(x, batch), [w for own in weights for w in own])
    return [found[2 * stage : 2 * stage + 2] for stage in range(schedule.stages)]


def test_start_up_and_steady_state_of_two_stages():
    schedule = asynchronous_1f1b((1, 1), batches=4)
    drawn = [" ".join(f"{kind}{number}" for kind, _, number in operations) for operations in schedule.ranks]
    assert drawn == ["F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"]
    used = versions_used(schedule, "stashing")
    assert [used[0, batch] for batch in range(4)] == [(0, 0), (0, 0), (1, 1), (2, 2)]
    assert [used[1, batch] for batch in range(4)] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert [versions_used(schedule, "newest")[0, batch] for batch in range(4)] == [(0, 0), (0, 1), (1, 2), (2, 3)]
    assert [versions_used(schedule, "vertical sync")[1, batch] for batch in range(4)] == [
        (0, 0),
        (0, 0),
        (1, 1),
        (2, 2),
    ]


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_without_replicas_the_order_is_that_of_1f1b(stages):
    assert asynchronous_1f1b((1,) * stages, 8).ranks == one_forward_one_backward(stages, 8).ranks


def test_any_replicas_make_a_schedule_that_can_be_carried_out():
    for stages in (1, 2, 3):
        for replicas in itertools.product(range(1, 5), repeat=stages):
            check_schedule(asynchronous_1f1b(replicas, rounds(replicas, 2)))


def test_a_pipeline_that_is_never_drained_has_no_bubble_in_the_long_run():
    # 7-1, backward twice forward: a batch comes every max(3 / 7, 3 / 7) seconds, after the pipeline is filled.
    times = OperationTimes(1.0, 1.0, 1.0, shares=(1.0, 1 / 7))
    spans = [pipeline_timeline(asynchronous_1f1b((7, 1), 7 * n), times).makespan_s for n in (20, 40)]
    assert spans[1] - spans[0] == pytest.approx(20 * 3.0)


@pytest.mark.parametrize("rule", ["stashing", "vertical sync"])
@pytest.mark.parametrize("replicas", SHAPES)
def test_a_gradient_is_the_gradient_at_the_stashed_versions_exactly(replicas, rule):
    schedule = asynchronous_1f1b(replicas, rounds(replicas, 4))
    results = simulate(train, sum(replicas), args=(replicas, schedule.micro_batches, rule)).results
    used = versions_used(schedule, rule)
    for batch in range(schedule.micro_batches):
        for stage, expected in enumerate(gradients_at(schedule, results, used, batch)):
            found = results[schedule.rank_of(stage, batch)][0][batch]
            assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_without_stashing_the_gradient_belongs_to_no_version():
    schedule = asynchronous_1f1b((1, 1, 1), 8)
    results = simulate(train, 3, args=((1, 1, 1), 8, "newest")).results
    at_forward = gradients_at(schedule, results, versions_used(schedule, "newest"), 4)
    assert not torch.equal(results[0][0][4][0], at_forward[0][0])  # batch 4: the second stage has moved meanwhile
    assert torch.equal(results[2][0][4][0], at_forward[2][0])  # the last stage goes back at once


@pytest.mark.parametrize("rule", WEIGHT_RULES)
@pytest.mark.parametrize("replicas", SHAPES)
def test_bytes_of_weights_are_those_of_the_versions(replicas, rule):
    count = rounds(replicas)
    results = simulate(train, sum(replicas), args=(replicas, count, rule)).results
    own_bytes = (WIDTH * WIDTH + WIDTH) * 8
    assert [each[3] for each in results] == [
        kept * own_bytes for kept in peak_versions(asynchronous_1f1b(replicas, count), rule)
    ]


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_versions_kept_follow_their_closed_forms(stages):
    schedule = asynchronous_1f1b((1,) * stages, 3 * stages)
    assert peak_versions(schedule, "stashing") == [stages - stage for stage in range(stages)]
    assert peak_versions(schedule, "vertical sync") == [stages] * stages


@pytest.mark.parametrize("replicas", [(7, 1), (2, 1, 1), (9, 5, 1, 1)])
def test_replicas_keep_as_many_versions_as_they_have_batches_under_way(replicas):
    schedule = asynchronous_1f1b(replicas, rounds(replicas))
    expected = [batches_under_way(replicas, schedule.stage_of(rank)) for rank in range(sum(replicas))]
    assert peak_versions(schedule, "stashing") == expected


def test_one_stage_is_gradient_descent_and_its_replicas_are_data_parallelism():
    for count in (1, 3):
        part = module(0)
        for first in range(0, 6, count):
            xs = batches(6)[first : first + count]
            total = sum(loss(part(x), first + number) for number, x in enumerate(xs)) / count
            step = torch.autograd.grad(total, list(part.parameters()))
            with torch.no_grad():
                for weight, gradient in zip(part.parameters(), step, strict=True):
                    weight -= RATE * gradient
        for *_, trained in simulate(train, count, args=((count,), 6, "stashing")).results:
            for weight, expected in zip(trained.parameters(), part.parameters(), strict=True):
                torch.testing.assert_close(weight, expected)


def test_real_processes_train_as_simulated_ones():
    simulated, real = (train_digits((2, 1), batches=20, seeds=2, executor=each) for each in (simulate, run))
    assert real.losses == pytest.approx(simulated.losses, rel=1e-4)
    assert real.peak_weight_bytes == simulated.peak_weight_bytes


def test_without_stashing_a_rate_diverges_that_stashing_survives():
    rates = {"learning_rate": 0.4, "batches": 150, "seeds": 4}
    newest, stashing = (train_digits((1, 1, 1, 1), rule, **rates).losses[-1] for rule in ("newest", "stashing"))
    assert isnan(newest)
    assert stashing < 3


def test_digits_are_the_same_however_the_layers_are_cut():
    one, two = (train_digits(replicas, batches=8, seeds=3) for replicas in ((1,), (1, 1)))
    assert one.losses[0] == pytest.approx(two.losses[0])
    assert one.losses[2] != two.losses[2]  # the first stage's weights are late
    one, two, three = (digit_stages(stages, seeds=3) for stages in (1, 2, 3))
    x = torch.rand(3, 5, 64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(nn.Sequential(*one)(x), nn.Sequential(*two)(x))
    assert torch.equal(nn.Sequential(*one)(x), nn.Sequential(*three)(x))


def test_seeds_side_by_side_train_as_each_alone():
    together, alone = (train_digits((1, 1), batches=30, seeds=seeds) for seeds in (3, 1))
    assert together.test_accuracies[0] == pytest.approx(alone.test_accuracies[0], abs=0.01)
    assert together.peak_weight_bytes == alone.peak_weight_bytes


def test_digits_are_learned_through_a_pipeline():
    assert train_digits((1, 1), layers=2, batches=150, seeds=2).test_accuracies == [pytest.approx(0.93, abs=0.05)] * 2


def test_a_stage_without_a_layer_is_refused():
    with pytest.raises(ValueError, match="got 5 stages for 4 layers"):
        digit_stages(5)


@pytest.mark.parametrize(("replicas", "count"), [((), 2), ((0, 1), 2), ((2, 3), 8), ((1,), 0)])
def test_rounds_that_are_not_whole_are_refused(replicas, count):
    with pytest.raises(
        ValueError, match=rf"the replicas \({', '.join(map(str, replicas))}.* must divide .* got {count}"
    ):
        asynchronous_1f1b(replicas, count)


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(ValueError, match="got 'oldest'"):
        versions_used(asynchronous_1f1b((1,), 1), "oldest")


def test_batches_on_their_way_do_not_grow_with_the_training():
    def on_their_way(comm, batches_in_all):
        schedule = asynchronous_1f1b((1, 2, 1), batches_in_all)
        settings = {"learning_rate": RATE, "rule": "stashing"}
        shape = lambda *_: (ROWS, WIDTH)  # noqa: E731
        stage = module(schedule.stage_of(comm.rank))
        return train_asynchronously(
            comm, schedule, stage, batches(batches_in_all), shape, loss, **settings
        )._outbox.peak

    few, many = (simulate(on_their_way, 4, args=(count,)).results for count in (8, 40))
    assert few == many
    assert max(many) <= 5


@pytest.mark.parametrize("replicas", [(1, 1), (2, 2)])
@pytest.mark.parametrize("still", [0, 1])
def test_a_stage_that_learns_nothing_passes_everything_on(replicas, still):
    def frozen(comm, bare):
        schedule = asynchronous_1f1b(replicas, 4)
        stage = schedule.stage_of(comm.rank)
        own = module(stage)
        if stage == still:
            own = nn.Tanh() if bare else own.requires_grad_(False)
        before = [parameter.clone() for parameter in own.parameters()]
        rank = train_asynchronously(
            comm, schedule, own, batches(4), lambda *_: (ROWS, WIDTH), loss, learning_rate=RATE, rule="stashing"
        )
        same = all(torch.equal(a, b) for a, b in zip(before, own.parameters(), strict=True))
        return stage, same, len(rank.losses)

    for bare in (False, True):
        results = simulate(frozen, sum(replicas), args=(bare,)).results
        assert all(same == (stage == still) for stage, same, _ in results)
        assert sum(count for _, _, count in results) == 4


def test_a_schedule_for_others_and_a_second_training_are_refused():
    schedule, shape = asynchronous_1f1b((1,), 3), (lambda *_: (ROWS, WIDTH))

    def again(comm, count):
        rank = train_asynchronously(comm, schedule, module(0), batches(count), shape, loss, learning_rate=RATE)
        rank.run()

    for ranks, count in ((2, 3), (1, 4), (1, 2)):
        with pytest.raises(Exception, match=f"is for 1 ranks and 3 batches, got {ranks} and {count}"):
            simulate(again, ranks, args=(count,))
    with pytest.raises(Exception, match="has trained on its 3 batches"):
        simulate(again, 1, args=(3,))


class Partly(nn.Module):
    """Uses one of its two layers, and has no gradient for what it is given."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.used(x.detach())


def partly_trained(comm, learns):
    stage = Partly().double().requires_grad_(learns)
    before = [weight.detach().clone() for weight in stage.parameters()]
    schedule = asynchronous_1f1b((1,) * comm.world_size, 3)
    train_asynchronously(comm, schedule, stage, batches(3), lambda *_: (ROWS, WIDTH), loss, learning_rate=RATE)
    return [bool((a != b).any()) for a, b in zip(before, stage.parameters(), strict=True)]


def test_weights_without_a_gradient_stay_and_stages_before_get_zeros():
    assert simulate(partly_trained, 2, args=(True,)).results == [[False] * 4, [True, True, False, False]]
    assert simulate(partly_trained, 2, args=(False,)).results == [[False] * 4] * 2
