"""Downpour SGD: Adagrad on the shards, replicas that fetch and push when they like, a warm start."""

from itertools import islice

import pytest
import torch

from course_lib import simulate
from course_lib.parameter_server import (
    Adagrad,
    CommMailbox,
    Message,
    Server,
    Sgd,
    WarmStart,
    asynchronous,
    replicate,
    shard_plan,
    take,
)
from course_lib.parameter_server.experiments import Speeds, train_downpour, train_on_one_machine
from course_lib.parameter_server.experiments.distbelief import DownpourSetting
from course_lib.tasks import Classifier, digit_batches, load_digits

STEPS = 60


def torch_adagrad(task: Classifier, steps: int, rate: float, batch_size: int = 32) -> torch.Tensor:
    """What torch.optim.Adagrad makes of the batches that the first replica draws."""
    parameters = task.initial().requires_grad_()
    optimizer = torch.optim.Adagrad([parameters], lr=rate)
    for inputs, labels in islice(digit_batches(batch_size), steps):
        parameters.grad = task.gradient(parameters.detach(), inputs, labels)
        optimizer.step()
    return parameters.detach()


def kinds(outbox: list) -> list:
    return [(dst, message.kind, message.version) for dst, message in outbox]


# Adagrad


def test_a_parameter_with_large_gradients_goes_no_farther_than_one_with_small_ones() -> None:
    step, x = Adagrad(rate=1.0), torch.zeros(2)
    x = step(x, torch.tensor([300.0, 3.0]))
    assert x.tolist() == [-1.0, -1.0]
    x = step(x, torch.tensor([400.0, 4.0]))  # the root of 300² + 400² is 500
    assert x.tolist() == pytest.approx([-1.8, -1.8])


@pytest.mark.parametrize("servers", [1, 2, 5, 12])
def test_adagrad_shard_by_shard_equals_torchs_on_the_whole_row(servers: int) -> None:
    generator, plan = torch.Generator().manual_seed(0), shard_plan([10], servers)
    whole = torch.randn(10, generator=generator).requires_grad_()
    optimizer = torch.optim.Adagrad([whole], lr=0.3)
    shards, steps = [take(whole.detach().clone(), shard) for shard in plan], [Adagrad(0.3) for _ in plan]
    for _ in range(20):
        whole.grad = torch.randn(10, generator=generator)
        optimizer.step()
        shards = [step(x, take(whole.grad, shard)) for step, x, shard in zip(steps, shards, plan, strict=True)]
    assert torch.equal(torch.cat(shards), whole.detach())


def test_a_parameter_without_gradients_stays() -> None:
    assert Adagrad(0.1)(torch.tensor([7.0]), torch.tensor([0.0])).tolist() == [7.0]


# One replica


@pytest.mark.parametrize("hidden", [0, 8])
@pytest.mark.parametrize("servers", [1, 2, 3])
def test_one_replica_that_fetches_and_pushes_always_is_adagrad_on_one_machine(servers: int, hidden: int) -> None:
    task = Classifier(hidden)
    history = train_downpour(workers=1, servers=servers, updates=STEPS, task=task, rate=0.1)
    assert torch.equal(history.parameters, torch_adagrad(task, STEPS, rate=0.1))
    assert set(history.staleness) == {0}


def test_one_machine_is_plain_sgd() -> None:
    task = Classifier()
    x = task.initial().requires_grad_()
    optimizer = torch.optim.SGD([x], lr=0.5)
    for inputs, labels in islice(digit_batches(32), STEPS):
        x.grad = task.gradient(x.detach(), inputs, labels)
        optimizer.step()
    assert torch.equal(train_on_one_machine(Sgd(0.5), updates=STEPS).parameters, x.detach())


def test_n_push_adds_up_what_n_fetch_computes_on_a_copy_of_its_own() -> None:
    # Two gradients on one fetch, the second after a local step; their sum is one push. By hand, with plain tensors.
    task, step = Classifier(), Adagrad(0.1)
    x, examples = task.initial(), digit_batches(32)
    for _ in range(STEPS // 2):
        first = task.gradient(x, *next(examples))
        second = task.gradient(x - 0.05 * first, *next(examples))
        x = step(x, first + second)
    history = train_downpour(workers=1, updates=STEPS // 2, n_fetch=2, n_push=2, local_rate=0.05, rate=0.1)
    assert torch.allclose(history.parameters, x, rtol=0, atol=1e-6)
    assert (history.updates[-1], history.gradients[-1]) == (STEPS // 2, STEPS)


@pytest.mark.parametrize(("n_fetch", "n_push"), [(1, 1), (4, 1), (1, 4), (4, 2), (3, 5)])
def test_a_replica_fetches_and_pushes_as_often_as_it_was_told(n_fetch: int, n_push: int) -> None:
    # A shard that counts what it gets, and says stop at the sixth pull.
    row = Classifier().initial()
    plan = shard_plan([len(row)], 1)

    def program(comm):
        mailbox, got = CommMailbox(comm), []
        if comm.rank:
            return replicate(mailbox, 1, plan, torch.ones_like, n_fetch=n_fetch, n_push=n_push)
        while not got or got[-1][0] != "goodbye":
            message = mailbox.receive()
            got.append((message.kind, message.clock, None if message.payload is None else float(message.payload[0])))
            if message.kind == "pull":
                last = [kind for kind, *_ in got].count("pull") == 6
                mailbox.send(1, Message("stop", 0) if last else Message("parameters", 0, payload=row))
        mailbox.close()
        return got

    got, gradients = simulate(program, 2).results
    assert gradients == 5 * n_fetch
    pushes = [(clock, value) for kind, clock, value in got if kind == "push"]
    assert pushes == [(clock, float(n_push)) for clock in range(n_push, gradients + 1, n_push)]


# Several replicas


def test_each_replica_fetches_the_whole_model_and_each_shard_holds_a_part() -> None:
    history = train_downpour(workers=3, servers=2, updates=10)
    model_bytes = 4 * 650
    for replica in (2, 3, 4):
        for shard in (0, 1):
            fetched = [m.message_bytes for m in history.trace.messages if (m.src, m.dst) == (shard, replica)]
            assert max(fetched) == model_bytes / 2


def test_each_replica_draws_its_own_batches() -> None:
    # replica 0: gradient ---- push              the two updates are the first gradients of both,
    # replica 1: gradient ---------- push        made on the same parameters
    history = train_downpour(workers=2, updates=2, rate=0.1, speeds=Speeds(spread=0.0, slower={1: 1.5}))
    task, step = Classifier(), Adagrad(0.1)
    start = wanted = task.initial()
    for replica in (0, 1):
        wanted = step(wanted, task.gradient(start, *next(digit_batches(32, rank=replica))))
    torch.testing.assert_close(history.parameters, wanted)


def test_shards_have_no_common_clock() -> None:
    # Two shards that have made 5 and 9 updates: a push names to each the version that it has itself.
    row, plan = torch.zeros(4), shard_plan([4], 2)

    def program(comm):
        mailbox = CommMailbox(comm)
        if comm.rank == 2:
            return replicate(mailbox, 2, plan, torch.ones_like)
        pushed = []
        while (message := mailbox.receive()).kind != "goodbye":
            if message.kind == "push":
                pushed.append(message.version)
            else:
                answer = Message("parameters", comm.rank, version=(5, 9)[comm.rank], payload=take(row, plan[0]))
                mailbox.send(2, Message("stop", comm.rank) if len(pushed) == 3 else answer)
        mailbox.close()
        return pushed

    assert simulate(program, 3).results == [[5, 5, 5], [9, 9, 9], 3]


def test_replicas_join_when_the_first_has_warmed_the_shards_up() -> None:
    server = WarmStart(Server(0, torch.zeros(1), asynchronous(), [1, 2], Sgd(1.0)), first=1, updates=2)
    assert server.handle(Message("pull", 2)) == []
    assert kinds(server.handle(Message("pull", 1))) == [(1, "parameters", 0)]
    assert server.handle(Message("push", 1, clock=1, payload=torch.ones(1))) == []
    assert kinds(server.handle(Message("push", 1, clock=2, payload=torch.ones(1)))) == [(2, "parameters", 2)]


def test_replicas_are_let_go_when_the_first_leaves_during_the_warm_start() -> None:
    server = WarmStart(Server(0, torch.zeros(1), asynchronous(), [1, 2], Sgd(1.0), updates=1), first=1, updates=9)
    server.handle(Message("pull", 2))
    server.handle(Message("push", 1, clock=1, payload=torch.ones(1)))
    assert kinds(server.handle(Message("goodbye", 1))) == [(2, "stop", 0)]
    server.handle(Message("goodbye", 2))
    assert server.finished


@pytest.mark.parametrize("servers", [1, 3])
def test_during_the_warm_start_only_the_first_replica_computes(servers: int) -> None:
    history = train_downpour(workers=4, servers=servers, warm_start=20, updates=60)
    spans = [span for span in history.trace.spans if span.label == "gradient"]
    joined_s = min(span.start_s for span in spans if span.rank > servers)
    alone = [span for span in spans if span.end_s <= joined_s]
    assert len(alone) == 20
    assert set(history.staleness[:20]) == {0}
    assert max(history.staleness[20:]) >= 3


def test_a_warm_start_longer_than_the_training_ends() -> None:
    assert train_downpour(workers=3, warm_start=50, updates=10).updates[-1] == 10


def test_replicas_that_fetch_and_push_rarely_send_less() -> None:
    sent = [
        train_downpour(workers=4, updates=120 // n, n_fetch=n, n_push=n, local_rate=0.1).trace.total_bytes
        for n in (1, 2, 4)
    ]
    assert sent[0] > 1.8 * sent[1] > 3.2 * sent[2]


def test_a_gradient_takes_seconds_per_example_and_parameter() -> None:
    history = train_downpour(
        workers=1, updates=3, batch_size=10, seconds_per_example_parameter=1e-3, speeds=Speeds(spread=0.0)
    )
    spans = [span.end_s - span.start_s for span in history.trace.spans]
    assert spans[:3] == pytest.approx([10 * 650 * 1e-3] * 3)


def test_four_replicas_reach_a_loss_sooner_than_one_machine() -> None:
    goal = 0.4
    alone = train_on_one_machine(Adagrad(0.1), updates=300)
    together = train_downpour(workers=4, servers=2, updates=300)
    first = [
        next(at_s for at_s, loss in zip(history.time_s, history.loss, strict=True) if loss < goal)
        for history in (alone, together)
    ]
    assert first[0] > 2 * first[1]
    assert together.accuracy > 0.85


def test_the_loss_it_reports_is_that_of_its_parameters() -> None:
    data = load_digits()
    history = train_downpour(workers=3, servers=2, updates=50)
    assert history.loss[-1] == Classifier().loss(history.parameters, data.train_inputs, data.train_labels)
    assert history.loss[0] == Classifier().loss(Classifier().initial(), data.train_inputs, data.train_labels)


def test_equal_settings_give_an_equal_history() -> None:
    one, other = (train_downpour(workers=3, servers=2, n_fetch=2, updates=30) for _ in range(2))
    assert (one.time_s, one.loss, one.staleness) == (other.time_s, other.loss, other.staleness)


@pytest.mark.parametrize("bad", [{"n_fetch": 0}, {"n_push": 0}, {"warm_start": -1}])
def test_settings_that_cannot_be_are_refused(bad: dict) -> None:
    with pytest.raises(ValueError, match="n_fetch and n_push must be at least 1"):
        DownpourSetting(**bad)


def test_a_training_without_an_end_or_without_replicas_is_refused() -> None:
    with pytest.raises(ValueError, match="training needs an end: give updates or seconds"):
        train_downpour(updates=float("inf"))
    with pytest.raises(ValueError, match="training needs workers and servers, got 0 and 2"):
        train_downpour(workers=0, servers=2)
