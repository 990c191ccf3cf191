"""What each policy promises: who waits, which gradients count, and that training is what it says."""

import inspect
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_post import RandomPost

from course_lib import Network
from course_lib.collectives import ring_all_reduce_cost
from course_lib.parameter_server import (
    FULL_WEIGHT,
    SHARD_RULES,
    Actor,
    Policy,
    Server,
    Sgd,
    Worker,
    asynchronous,
    decay,
    drop_older_than,
    inverse_staleness,
    shard_plan,
    softsync,
    stale_synchronous,
    synchronous,
)
from course_lib.parameter_server.actor import HEADER_BYTES
from course_lib.parameter_server.experiments import (
    Speeds,
    central_corner,
    decentralized_corner,
    fault_trial,
    gossip_corner,
    largest_curvature,
    largest_stable_rate,
    train,
    train_downpour,
    train_sandblaster,
)
from course_lib.tasks import Classifier, digit_batches

INSTANT = Network()  # messages take no time


def town(policy: Policy, servers: int, workers: int, updates: float, seed: int) -> RandomPost:
    """Servers and workers; every gradient is all ones and the rate is -1, so parameters count updates."""
    addresses, plan = range(servers, servers + workers), shard_plan([6], servers)
    actors: dict[int, Actor] = {
        rank: Server(rank, torch.zeros(6 // servers), policy, addresses, Sgd(-1.0), updates=updates)
        for rank in range(servers)
    }
    actors |= {rank: Worker(rank, dict(enumerate(plan)), lambda row, clock: row * 0 + 1) for rank in addresses}
    return RandomPost(actors, seed)


POLICIES = [
    *(synchronous(workers - backup, backup) for workers, backup in ((4, 0), (4, 1), (4, 2))),
    asynchronous(),
    *(softsync(4, n) for n in (1, 2, 4)),
    *(stale_synchronous(slack) for slack in (0, 1, 3)),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@given(servers=st.sampled_from([1, 2, 3]), seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_everybody_goes_home_whatever_the_order_of_the_messages(policy: Policy, servers: int, seed: int) -> None:
    post = town(policy, servers, workers=4, updates=9, seed=seed)
    while post.deliver():
        pass
    assert all(actor.finished for actor in post.actors.values())
    held = [post.actors[rank] for rank in range(servers)]
    assert max(server.version for server in held) == 9
    if not policy.drops_late:  # what one shard drops another may take, and the first that has enough sends all home
        assert [server.version for server in held] == [9] * servers
    assert all(set(server.parameters.tolist()) == {server.version} for server in held)


@given(
    slack=st.integers(0, 4),
    workers=st.integers(1, 6),
    servers=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=30, deadline=None)
def test_whoever_begins_gradient_k_finds_k_less_slack_pushed_by_all(
    slack: int, workers: int, servers: int, seed: int
) -> None:
    post = town(stale_synchronous(slack), servers, workers, updates=float("inf"), seed=seed)
    begun, at_work = [0] * workers, [post.actors[servers + number] for number in range(workers)]
    for _ in range(400):
        assert post.deliver(), "no pull is held back for ever"
        for number, worker in enumerate(at_work):
            if worker.clock > begun[number]:  # it has made one more, which it began as the number `begun`, from 0
                pushed = [other.clock for other in at_work]
                assert begun[number] - min(pushed) <= slack
                begun[number] = worker.clock


@given(slack=st.integers(0, 3), workers=st.integers(2, 6), seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_at_no_time_do_two_workers_compute_gradients_more_than_slack_apart(slack: int, workers: int, seed: int) -> None:
    speeds = Speeds(spread=0.9, slower={0: 1 + seed % 4}, stall_share=0.2, stall_s=0.5)
    history = train(stale_synchronous(slack), workers=workers, speeds=speeds, updates=60, seed=seed, batch_size=1)
    computing = [[span for span in history.trace.spans if span.rank == rank + 1] for rank in range(workers)]
    for spans in computing:
        for clock, span in enumerate(spans):  # when this worker begins gradient `clock`, where are the others?
            done = [sum(other.end_s <= span.start_s for other in others) for others in computing]
            assert clock - min(done) <= slack or min(done) == len(computing[done.index(min(done))])


def test_slack_is_used_to_the_full_and_no_slack_means_step_by_step() -> None:
    def lead(slack: int) -> int:
        speeds = Speeds(spread=0.0, slower={0: 10.0})
        history = train(stale_synchronous(slack), workers=2, speeds=speeds, updates=20, batch_size=1, network=INSTANT)
        slow, fast = ([span for span in history.trace.spans if span.rank == rank] for rank in (1, 2))
        return max(clock - sum(o.end_s <= s.start_s for o in slow) for clock, s in enumerate(fast))

    assert [lead(slack) for slack in (0, 1, 4)] == [0, 1, 4]


def joined_sgd(workers: int, steps: int, rate: float, task: Classifier, batch_size: int, seed: int) -> torch.Tensor:
    """One process that steps down the mean loss of all workers' batches put together, in float64."""
    row = task.initial(seed).double()
    examples = [list(islice(digit_batches(batch_size, rank=worker, seed=seed), steps)) for worker in range(workers)]
    for step in range(steps):
        inputs = torch.cat([examples[worker][step][0] for worker in range(workers)]).double()
        labels = torch.cat([examples[worker][step][1] for worker in range(workers)])
        row = row - rate * task.gradient(row, inputs, labels)
    return row


@pytest.mark.parametrize("task", [Classifier(), Classifier(hidden=8), Classifier(squared=True)], ids=str)
@given(
    workers=st.integers(1, 6),
    servers=st.integers(1, 5),
    shard_by=st.sampled_from(SHARD_RULES),
    batch_size=st.integers(1, 40),
    seed=st.integers(0, 99),
)
@settings(max_examples=8)
def test_synchronous_training_equals_one_process_on_the_joined_batch(
    task: Classifier, workers: int, servers: int, shard_by: str, batch_size: int, seed: int
) -> None:
    options = {"batch_size": batch_size, "rate": 0.05 if task.squared else 0.5, "task": task, "seed": seed}
    history = train(synchronous(workers), workers=workers, servers=servers, shard_by=shard_by, updates=10, **options)
    torch.testing.assert_close(history.parameters.double(), joined_sgd(workers, 10, **options), rtol=1e-4, atol=1e-5)
    assert history.gradients[-1] == 10 * workers
    assert set(history.staleness) == {0}


@pytest.mark.parametrize("task", [Classifier(), Classifier(hidden=8), Classifier(squared=True)], ids=str)
def test_gradients_by_hand_equal_those_of_autograd(task: Classifier) -> None:
    inputs, labels = next(digit_batches(32))
    row = task.initial(3).double().requires_grad_()
    outputs = task.outputs(row, inputs.double())
    if task.squared:
        loss = ((outputs - torch.eye(10)[labels]) ** 2).sum(1).mean() / 2
    else:
        loss = torch.nn.functional.cross_entropy(outputs, labels)
    [wanted] = torch.autograd.grad(loss, row)
    torch.testing.assert_close(task.gradient(row.detach(), inputs.double(), labels), wanted)
    assert task.loss(row.detach(), inputs.double(), labels) == pytest.approx(loss.item())


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_same_seed_gives_the_same_history_to_the_last_bit(policy: Policy) -> None:
    speeds = Speeds(stall_share=0.1, stall_s=0.3)
    first, again, other = (train(policy, workers=4, servers=2, speeds=speeds, updates=12, seed=s) for s in (1, 1, 2))
    assert first.loss == again.loss
    assert torch.equal(first.parameters, again.parameters)
    assert first.time_s == again.time_s
    assert first.trace.messages == again.trace.messages
    assert first.loss != other.loss


def test_backup_workers_hide_stragglers_and_their_gradients_are_lost() -> None:
    stalls = Speeds(stall_share=0.1, stall_s=1.0)
    plain = train(synchronous(8), workers=8, speeds=stalls, updates=30)
    spared = train(synchronous(8, backup=2), workers=10, speeds=stalls, updates=30)
    assert spared.gradients[-1] == plain.gradients[-1] == 240  # each update is of 8 gradients
    assert spared.time_s[-1] < 0.6 * plain.time_s[-1]
    assert not plain.dropped
    assert min(spared.dropped) >= 1  # only what came after its update was made
    assert set(spared.staleness) == {0}


def test_a_straggler_slows_down_those_who_wait_for_it_and_nobody_else() -> None:
    def seconds(policy: Policy, slower: dict[int, float]) -> float:
        speeds = Speeds(slower=slower)
        return train(policy, workers=8, speeds=speeds, updates=160 // policy.gradients_per_update).time_s[-1]

    ratios = {
        policy.name: seconds(policy, {0: 5.0}) / seconds(policy, {})
        for policy in (synchronous(8), stale_synchronous(1), softsync(8, 1), asynchronous())
    }
    assert ratios["synchronous"] > 4
    assert ratios["stale-synchronous, slack 1"] > 3
    assert ratios["asynchronous"] < 1.3
    assert ratios["1-softsync"] < 1.3


def test_those_who_wait_are_idle_while_the_straggler_works() -> None:
    speeds = Speeds(slower={0: 5.0}, spread=0.0)
    waiting, going_on = (
        train(policy, workers=4, speeds=speeds, updates=updates)
        for policy, updates in ((synchronous(4), 20), (asynchronous(), 80))
    )
    assert waiting.busy_share == pytest.approx((5 + 3 * 1) / (4 * 5), abs=0.03)
    assert going_on.busy_share > 0.9


def test_softsync_of_as_many_as_there_are_workers_is_asynchronous() -> None:
    one, other = (train(policy, workers=4, updates=30) for policy in (softsync(4, 4), asynchronous()))
    assert one.loss == other.loss
    assert one.staleness == other.staleness


def diverges(staleness: int, times_the_limit: float, **more: object) -> bool:
    """True if asynchronous least squares at a multiple of the largest stable rate ends worse than it began."""
    rate = times_the_limit * largest_stable_rate(largest_curvature(), staleness)
    task = Classifier(squared=True)
    history = train(asynchronous(), workers=staleness + 1, updates=600, rate=rate, task=task, batch_size=64, **more)
    return not history.loss[-1] < history.loss[0]


@pytest.mark.parametrize("staleness", [0, 3, 7])
def test_asynchronous_training_diverges_where_the_formula_says(staleness: int) -> None:
    assert not diverges(staleness, 0.8)
    assert diverges(staleness, 1.3)


def test_the_rate_over_staleness_saves_what_diverges() -> None:
    assert diverges(7, 4.0)
    assert not diverges(7, 4.0, staleness_weight=inverse_staleness())


@pytest.mark.parametrize("staleness", [0, 1, 5])
def test_the_largest_stable_rate_is_where_the_recursion_begins_to_grow(staleness: int) -> None:
    def grows(rate: float) -> bool:
        x = [1.0] * (staleness + 1)
        for _ in range(2000):
            x.append(x[-1] - rate * 3.0 * x[-1 - staleness])
        return max(map(abs, x[-50:])) > max(map(abs, x[-300:-250]))

    limit = largest_stable_rate(3.0, staleness)
    assert not grows(0.98 * limit)
    assert grows(1.02 * limit)


def test_a_staleness_weight_costs_rate_or_gradients() -> None:
    plain, inverse, faded, dropping = (
        train(asynchronous(), workers=8, updates=100, staleness_weight=staleness_weight)
        for staleness_weight in (FULL_WEIGHT, inverse_staleness(), decay(0.9), drop_older_than(6))
    )
    assert plain.rate_lost == 0
    assert not plain.dropped
    assert inverse.rate_lost == pytest.approx(1 - sum(1 / max(s, 1) for s in inverse.staleness) / 100)
    assert faded.rate_lost == pytest.approx(1 - sum(0.9**s for s in faded.staleness) / 100)
    assert dropping.rate_lost == 0
    assert max(dropping.staleness) <= 6 < min(dropping.dropped)
    assert dropping.time_s[-1] > plain.time_s[-1]  # gradients thrown away are time thrown away


def test_the_corners_agree_where_they_must() -> None:
    setting = {"workers": 4, "seconds": 2.0}
    central, ring = central_corner(synchronous(4), **setting), decentralized_corner(**setting)
    assert ring.loss == pytest.approx(central.loss, rel=1e-5)
    assert ring.staleness == central.staleness == 0
    sent = ring_all_reduce_cost(650 * 4, world_size=4).bytes_sent
    assert ring.busiest_bytes == max(sent[rank] + sent[rank - 1] for rank in range(4))
    of_a_worker = 2 * 650 * 4 + 3 * HEADER_BYTES  # a push, a pull and the parameters
    assert central.busiest_bytes == pytest.approx(4 * of_a_worker, rel=0.1)  # the server: everything of everybody


def test_gossip_keeps_everybody_busy_and_spreads_what_each_learns() -> None:
    setting = {"workers": 4, "seconds": 3.0, "rate": 0.8, "speeds": Speeds(spread=0.0, slower={0: 4.0})}
    gossip, ring = gossip_corner(pause_s=0.02, **setting), decentralized_corner(**setting)
    assert gossip.seconds_per_round == pytest.approx(4 * 0.1 / (3 + 1 / 4), rel=0.1)  # each at its own pace
    assert ring.seconds_per_round == pytest.approx(4 * 0.1, rel=0.01)  # all at the slowest one's
    assert gossip.staleness > 0 == ring.staleness
    assert gossip.loss < ring.loss


def test_help_names_every_setting_with_its_default() -> None:
    shown = inspect.signature(train).parameters
    assert list(shown)[:3] == ["policy", "workers", "servers"]
    assert shown["rate"].default == 0.5
    for function in (
        train_downpour,
        train_sandblaster,
        central_corner,
        decentralized_corner,
        gossip_corner,
        fault_trial,
    ):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_the_loss_at_a_time_is_that_of_the_last_point_before() -> None:
    history = train(asynchronous(), workers=2, updates=40, points=4)
    assert [history.loss_at(time_s) for time_s in history.time_s] == history.loss
    between = (history.time_s[1] + history.time_s[2]) / 2
    assert history.loss_at(between) == history.loss[1]


@pytest.mark.parametrize(
    ("refused", "rule"),
    [
        (lambda: softsync(4, 5), "n must be from 1"),
        (lambda: stale_synchronous(-1), "slack must be 0 or more"),
        (lambda: synchronous(0), "workers must be at least 1 and backup 0 or more, got 0 and 0"),
        (lambda: synchronous(2, backup=-1), "got 2 and -1"),
        (lambda: Policy("none", gradients_per_update=0), "gradients_per_update must be at least 1, got 0"),
        (lambda: decay(1.5), "base must be"),
        (lambda: drop_older_than(-1), "oldest must be 0 or more, got -1"),
        (lambda: Speeds(spread=1.0), "spread"),
        (lambda: Speeds(slower={1: 0.5}), "slower must be 1 or more"),
        (lambda: train(asynchronous(), workers=0), "workers and servers"),
        (lambda: train(asynchronous(), updates=float("inf")), "needs an end"),
        (lambda: train(asynchronous(), batch_size=0), "batch_size and points must be at least 1, got 0 and 40"),
        (lambda: largest_stable_rate(0.0, 1), "curvature must be positive"),
    ],
)
def test_what_cannot_be_is_refused(refused, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        refused()
