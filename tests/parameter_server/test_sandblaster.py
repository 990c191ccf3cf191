"""Sandblaster: commands on vectors that lie on servers, L-BFGS made of them, portions that count exactly once."""

import random
from itertools import pairwise

import pytest
import torch
from random_post import RandomPost

from course_lib import Network
from course_lib.parameter_server import Message, shard_plan, take
from course_lib.parameter_server.actor import HEADER_BYTES
from course_lib.parameter_server.experiments import portion_gradient, train_sandblaster
from course_lib.parameter_server.experiments.distbelief import SandblasterSetting
from course_lib.parameter_server.sandblaster import (
    Command,
    Coordinator,
    FixedStep,
    PortionWorker,
    ShardVectors,
    VectorServer,
    WolfeStep,
    lbfgs_commands,
)
from course_lib.parameter_server.work_queue import WorkQueue, portion_slice
from course_lib.tasks import Classifier, load_digits

ITERATIONS = 12
SHORT = {"iterations": 4, "portions": 12, "step_rule": FixedStep()}


def torch_iterates(task: Classifier, iterations: int, history: int, rate: float) -> list[torch.Tensor]:
    """What torch.optim.LBFGS visits on the whole batch, with autograd's gradient of the same loss."""
    data = load_digits()
    inputs, labels = data.train_inputs.double(), data.train_labels

    def loss_at(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(task.outputs(x, inputs), labels)

    return torch_visits(loss_at, task.initial().double(), iterations, history, rate)


def torch_visits(loss_at, start: torch.Tensor, iterations: int, history: int, rate: float) -> list[torch.Tensor]:
    """What torch.optim.LBFGS visits from `start` on, without a line search."""
    x = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([x], lr=rate, max_iter=1, history_size=history, tolerance_grad=0, tolerance_change=0)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_at(x)
        loss.backward()
        return loss

    visited = [x.detach().clone()]
    for _ in range(iterations):
        optimizer.step(closure)
        visited.append(x.detach().clone())
    return visited


def execute_here(commands, x: torch.Tensor, evaluate):
    """Execute `commands` with all vectors in one place; `evaluate(x)` gives loss and gradient. The result, and x."""
    shard, answer = ShardVectors(x), None
    try:
        while True:
            command = commands.send(answer)
            if command.name == "evaluate":
                answer, shard.vectors["g"] = evaluate(shard["x"])
            else:
                answer = shard.execute(command)
    except StopIteration as end:
        return end.value, shard["x"]


def assert_same_iterates(found: list[torch.Tensor], expected: list[torch.Tensor], tolerance: float = 1e-9) -> None:
    assert len(found) == len(expected)
    for iteration, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert torch.allclose(one, other, rtol=0, atol=tolerance), (iteration, (one - other).abs().max())


# The table of commands


def test_a_shard_does_what_the_table_says() -> None:
    shard = ShardVectors(torch.tensor([1.0, -2.0, 3.0]))
    assert shard.execute(Command("copy", "d", "x")) is None
    shard.execute(Command("scale", "d", factor=-2.0))
    assert shard["d"].tolist() == [-2.0, 4.0, -6.0]
    shard.execute(Command("add", "d", "x", 3.0))
    assert shard["d"].tolist() == [1.0, -2.0, 3.0]
    assert shard.execute(Command("dot", "d", "x")) == 1 + 4 + 9
    assert shard.execute(Command("abs_sum", "x")) == 6
    assert shard["x"].tolist() == [1.0, -2.0, 3.0]


def test_a_vector_is_never_changed_in_place() -> None:
    x = torch.tensor([1.0, 2.0])
    shard = ShardVectors(x)
    shard.execute(Command("copy", "x0", "x"))
    for name in ("scale", "add"):
        shard.execute(Command(name, "x", "x0", 5.0))
    assert x.tolist() == shard["x0"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("servers", [1, 2, 3, 7, 12])
def test_commands_on_shards_give_what_they_give_on_the_whole_vector(servers: int) -> None:
    # Whole numbers add exactly in any order; 12 servers for 10 numbers leave some shards empty.
    x = torch.randint(-9, 9, (10,), generator=torch.Generator().manual_seed(0)).double()
    plan = shard_plan([10], servers)
    whole, shards = ShardVectors(x), [ShardVectors(take(x, shard)) for shard in plan]
    rng = random.Random(0)
    names = ["x"]
    for _ in range(40):
        name = rng.choice(["dot", "abs_sum", "scale", "add", "copy"])
        command = Command(name, rng.choice(names), rng.choice(names), rng.choice([1.0, -1.0, 2.0]))
        if name == "copy":
            command = command._replace(target=rng.choice("abc"))
            names = sorted({*names, command.target})
        expected, parts = whole.execute(command), [shard.execute(command) for shard in shards]
        assert expected == (sum(parts) if command.answered else None)
    for name in names:
        assert torch.cat([shard[name] for shard in shards]).tolist() == whole[name].tolist()


def test_a_command_travels_in_a_message_of_88_bytes() -> None:
    command = Command("add", "y12", "g0", -0.1)
    frames = command.message(sender=0).to_bytes()
    assert sum(map(len, frames)) == HEADER_BYTES + 24
    assert Command.from_message(Message.from_bytes(frames)) == command


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be one of dot, scale.*got 'invert'"):
        Command("invert", "x").message(0)
    with pytest.raises(ValueError, match="8 characters, got 'direction'"):
        Command("scale", "direction").message(0)
    with pytest.raises(ValueError, match="no vector 'g' on this shard, only x"):
        ShardVectors(torch.zeros(2)).execute(Command("dot", "x", "g"))
    with pytest.raises(ValueError, match="cannot do 'evaluate' by itself"):
        ShardVectors(torch.zeros(2)).execute(Command("evaluate", "g", "x"))


# L-BFGS


@pytest.mark.parametrize("history", [1, 3, 10])
@pytest.mark.parametrize("hidden", [0, 8])
def test_commands_in_one_place_visit_what_torch_visits(history: int, hidden: int) -> None:
    task, visited = Classifier(hidden), []

    def evaluate(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        visited.append(x)
        return portion_gradient(task, x)

    execute_here(lbfgs_commands(ITERATIONS, history, FixedStep(0.7)), task.initial().double(), evaluate)
    assert_same_iterates(visited, torch_iterates(task, ITERATIONS, history, rate=0.7))


@pytest.mark.parametrize("start", [[0.3, 0.4], [1.5, 6.0]])
def test_a_step_against_the_curvature_is_forgotten_as_torch_forgets_it(start: list) -> None:
    # The cosine is bent downward round 0: there a step makes the gradient steeper.
    x, visited, products = torch.tensor(start, dtype=torch.float64), [], []

    def evaluate(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        visited.append(x)
        return float(torch.cos(x).sum()), -torch.sin(x)

    execute_here(lbfgs_commands(10, 3, FixedStep(0.5)), x, evaluate)
    assert_same_iterates(visited, torch_visits(lambda x: torch.cos(x).sum(), x, 10, history=3, rate=0.5))
    for before, after in pairwise(visited):
        products.append(float((after - before) @ (torch.sin(before) - torch.sin(after))))
    assert min(products) < 0 < max(products)


@pytest.mark.parametrize(("workers", "servers", "hidden"), [(1, 1, 0), (1, 3, 8), (3, 2, 0), (5, 4, 8)])
def test_sandblaster_visits_what_torch_visits(workers: int, servers: int, hidden: int) -> None:
    task = Classifier(hidden)
    history = train_sandblaster(
        workers=workers,
        servers=servers,
        task=task,
        iterations=ITERATIONS,
        history=4,
        step_rule=FixedStep(0.7),
        portions=16,
        network=Network(latency_s=1e-3, bytes_per_s=1e7, stragglers={1 + servers: 5.0}),
        dtype=torch.float64,
    )
    assert_same_iterates(history.iterates, torch_iterates(task, ITERATIONS, history=4, rate=0.7))
    assert len(history.batches) == ITERATIONS + 1


def test_with_a_line_search_it_visits_what_commands_in_one_place_visit() -> None:
    task = Classifier()
    points, x = execute_here(lbfgs_commands(ITERATIONS), task.initial().double(), lambda x: portion_gradient(task, x))
    history = train_sandblaster(iterations=ITERATIONS, dtype=torch.float64)
    assert history.steps == pytest.approx([point.step for point in points])
    assert history.loss == pytest.approx([point.loss for point in points], abs=1e-12)
    assert torch.allclose(history.parameters, x, rtol=0, atol=1e-9)


def test_the_line_search_finds_the_minimum_that_torch_finds() -> None:
    # A bowl a hundred times steeper in one direction than in another, with its minimum at (1, ..., 1).
    curvatures = torch.logspace(0, 2, 20, dtype=torch.float64)
    x = torch.zeros(20, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [x], max_iter=150, tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (curvatures * (x - 1) ** 2).sum() / 2
        loss.backward()
        return loss

    def evaluate(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        return float((curvatures * (x - 1) ** 2).sum() / 2), curvatures * (x - 1)

    optimizer.step(closure)
    points, found = execute_here(lbfgs_commands(150), torch.zeros(20, dtype=torch.float64), evaluate)
    assert torch.allclose(found, x.detach(), rtol=0, atol=1e-7)
    assert torch.allclose(found, torch.ones(20, dtype=torch.float64), rtol=0, atol=1e-7)
    assert len({point.loss for point in points}) > 20


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("decrease", [1e-4, 0.4])
@pytest.mark.parametrize("curvature", [0.001, 0.1, 1.0, 5.0, 30.0, 1e4])
def test_the_line_search_keeps_its_two_promises(curvature: float, decrease: float, first: bool) -> None:
    # The loss is c (1 - cos x), from x = 2 down its slope: too small a c asks for doubling, too large a c for halving.
    rule, x, tried = WolfeStep(decrease), torch.tensor([2.0], dtype=torch.float64), []

    def evaluate(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        tried.append(x)
        return curvature * (1 - float(torch.cos(x))), curvature * torch.sin(x)

    def search():
        loss = yield Command("evaluate", "g", "x")
        for name, source in [("d", "g"), ("x0", "x"), ("g0", "g")]:
            yield Command("copy", name, source)
        yield Command("scale", "d", factor=-1.0)
        slope = yield Command("dot", "g", "d")
        return loss, slope, (yield from rule.take(loss, slope, first))

    (loss, slope, (step, new_loss, tries)), new_x = execute_here(search(), x, evaluate)
    assert (new_loss, len(tried)) == (evaluate(new_x)[0], 1 + tries)
    assert new_loss <= loss + rule.decrease * step * slope
    new_slope = float(evaluate(new_x)[1] @ -evaluate(x)[1])
    assert new_slope >= rule.curvature * slope


def test_a_line_search_that_finds_nothing_goes_back_and_ends() -> None:
    # The loss rises whatever one does, although the gradient promises a fall.
    calls = []

    def liar(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        calls.append(x)
        return float(len(calls)), torch.ones(2)

    points, x = execute_here(lbfgs_commands(5, step_rule=WolfeStep(most=6)), torch.tensor([3.0, 4.0]), liar)
    assert (len(points), x.tolist(), len(calls)) == (1, [3.0, 4.0], 1 + 6)


def test_at_the_minimum_it_stops() -> None:
    points, x = execute_here(lbfgs_commands(9), torch.zeros(3), lambda x: (0.0, torch.zeros(3)))
    assert (len(points), x.tolist()) == (1, [0.0, 0.0, 0.0])


# WorkQueue


@pytest.mark.parametrize(("portions", "length"), [(1, 7), (3, 7), (7, 7), (9, 7), (48, 1437)])
def test_portions_cut_the_batch_without_gap_or_overlap(portions: int, length: int) -> None:
    cut = [range(length)[portion_slice(number, portions, length)] for number in range(portions)]
    assert [example for part in cut for example in part] == list(range(length))
    assert max(map(len, cut)) - min(map(len, cut)) <= 1


def test_a_portion_is_handed_out_again_only_when_all_have_been_handed_out() -> None:
    portions = WorkQueue(3, copies=2)
    assert [portions.hand_out() for _ in range(3)] == [0, 1, 2]
    assert portions.accept(1)
    assert [portions.hand_out() for _ in range(3)] == [0, 2, None]
    assert portions.duplicates == 2
    assert [portions.accept(number) for number in (0, 0, 1, 2)] == [True, False, False, True]
    assert portions.complete


def test_without_duplicates_each_portion_is_handed_out_once() -> None:
    portions = WorkQueue(2, copies=1)
    assert [portions.hand_out() for _ in range(3)] == [0, 1, None]


@pytest.mark.parametrize("bad", [(0, 1), (1, 0)])
def test_a_batch_without_portions_is_refused(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"at least 1 portion.*got"):
        WorkQueue(*bad)


def push(portion: int, value: float, evaluation: int = 0) -> Message:
    return Message("push", 2, version=evaluation, number=portion, payload=torch.tensor([value]))


def test_a_server_adds_each_portion_once_and_keeps_commands_until_it_has_all() -> None:
    server = VectorServer(1, torch.tensor([5.0]), coordinator=0, workers=[2, 3])
    server.handle(Command("evaluate", "g", "x").message(0, version=0, count=2))
    assert server.handle(Command("dot", "g", "x").message(0)) == []
    assert (
        server.handle(push(1, 3.0))
        == server.handle(push(1, 100.0))
        == server.handle(push(0, 100.0, evaluation=7))
        == []
    )
    [(dst, answer)] = server.handle(push(0, 4.0))
    assert (dst, answer.kind, answer.payload.item()) == (0, "result", (3 + 4) * 5)
    server.handle(push(0, 100.0))
    assert (server.shard["g"].item(), server.dropped) == (7, 3)


def test_a_server_sends_parameters_only_for_the_evaluation_under_way() -> None:
    # worker 2 pulls for evaluation 0 | evaluate 0 | <- x | its only portion | x changes | 2 pulls for 0 | <- nothing
    server = VectorServer(1, torch.tensor([5.0]), coordinator=0, workers=[2])
    assert server.handle(Message("pull", 2, number=0)) == []
    [(_, answer)] = server.handle(Command("evaluate", "g", "x").message(0, version=0, count=1))
    assert answer.payload.item() == 5
    server.handle(push(0, 1.0))
    server.handle(Command("scale", "x", factor=2.0).message(0))
    [(_, answer)] = server.handle(Message("pull", 2, number=0))
    assert answer.payload is None
    assert server.handle(Message("pull", 2, number=1)) == []


def test_a_worker_whose_evaluation_is_over_at_one_server_computes_nothing() -> None:
    plan = shard_plan([4], 2)
    worker = PortionWorker(3, 0, {1: plan[0], 2: plan[1]}, gradient=lambda parameters, portion: pytest.fail("computed"))
    assert [dst for dst, _ in worker.handle(Message("portion", 0, version=5, number=1))] == [1, 2]
    assert worker.handle(Message("parameters", 1, version=5, payload=torch.zeros(2))) == []
    [(dst, answer)] = worker.handle(Message("parameters", 2, version=5))
    assert (dst, answer.kind) == (0, "ready")


@pytest.mark.parametrize("copies", [1, 2, 9])
@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_order_of_messages_each_portion_is_in_the_sum_once(copies: int, seed: int) -> None:
    # Portion p has the gradient 10^p in each of 5 parameters: the digits of the sum say how often each was added.
    # Each evaluation has another x, and the gradient is added to it: a worker that mixes two evaluations is found out.
    plan, portions, evaluations = shard_plan([5], 2), 5, 4
    sums, losses = [], []

    def optimizer():
        for _ in range(evaluations):
            losses.append((yield Command("evaluate", "g", "x")))
            sums.append((yield Command("abs_sum", "g")))
            yield Command("add", "x", "x", 1.0)

    def gradient(parameters: torch.Tensor, portion: int) -> tuple[float, torch.Tensor]:
        return 10.0**portion, parameters * 10**portion

    x, servers, workers = torch.ones(5, dtype=torch.float64), {1: plan[0], 2: plan[1]}, [3, 4, 5, 6]
    actors = {0: Coordinator(0, optimizer(), servers, workers, portions, copies)}
    actors |= {rank: VectorServer(rank, take(x, shard), 0, workers) for rank, shard in servers.items()}
    actors |= {rank: PortionWorker(rank, 0, servers, gradient) for rank in workers}
    post = RandomPost(actors, seed)
    while post.deliver():
        pass
    assert all(actor.finished for actor in actors.values())
    assert losses == [11111.0] * evaluations
    assert sums == [5 * 11111.0 * 2**number for number in range(evaluations)]
    if copies == 1:
        assert sum(len(actors[rank].done) for rank in workers) == portions * evaluations


# The whole, on the virtual clock


def test_the_coordinator_sees_no_vector_however_long_the_vectors_are() -> None:
    seen = []
    for hidden in (0, 64):
        history = train_sandblaster(**SHORT, task=Classifier(hidden))
        mine = [message for message in history.trace.messages if 0 in (message.src, message.dst)]
        assert max(message.message_bytes for message in mine) == HEADER_BYTES
        seen.append(sum(message.message_bytes for message in mine if max(message.src, message.dst) <= 2))
        assert max(message.message_bytes for message in history.trace.messages) > 1000
    small, large = seen
    assert small == large > 0


def test_duplicates_and_stragglers_change_nothing_but_time() -> None:
    steady = {**SHORT, "dtype": torch.float64}
    alone = train_sandblaster(**steady, workers=1, copies=1)
    several = [
        train_sandblaster(**steady, workers=4, copies=copies, network=Network(latency_s=1e-4, stragglers={6: 8.0}))
        for copies in (1, 2)
    ]
    assert sum(batch.duplicates for batch in several[0].batches) == 0
    assert sum(batch.duplicates for batch in several[1].batches) > 0
    assert max(several[0].portions_dropped) == 0
    for history in several:
        assert_same_iterates(history.iterates, alone.iterates, tolerance=1e-12)


def test_small_portions_beat_equal_shares_when_one_worker_is_slow_and_duplicates_beat_both() -> None:
    workers, slow = 4, Network(latency_s=1e-4, bytes_per_s=125e6, stragglers={6: 10.0})
    seconds = {
        (portions, copies): train_sandblaster(
            workers=workers, portions=portions, copies=copies, iterations=4, step_rule=FixedStep(), network=slow
        ).time_s[-1]
        for portions, copies in [(workers, 1), (48, 1), (48, 2)]
    }
    shares, small, both = seconds.values()
    assert shares > 2 * small
    assert small > 1.2 * both


def test_equal_settings_give_an_equal_history() -> None:
    one, other = (train_sandblaster(**SHORT, workers=3) for _ in range(2))
    assert (one.time_s, one.loss, one.done) == (other.time_s, other.loss, other.done)
    assert torch.equal(one.parameters, other.parameters)


def test_the_loss_it_reports_is_that_of_its_parameters() -> None:
    task, data = Classifier(), load_digits()
    history = train_sandblaster(task=task, iterations=15)
    assert history.loss == pytest.approx(
        [task.loss(x, data.train_inputs, data.train_labels) for x in history.iterates], abs=1e-5
    )
    assert history.loss[-1] < 0.2
    assert history.accuracy > 0.88
    assert len(history.time_s) == len(history.loss) == len(history.updates) == len(history.gradients)
    assert history.time_s == sorted(history.time_s)


def test_more_workers_take_less_time() -> None:
    times = [train_sandblaster(**SHORT, workers=workers).time_s[-1] for workers in (1, 2, 4)]
    assert times[0] > 1.8 * times[1] > 3 * times[2]


def test_the_world_holds_one_coordinator() -> None:
    assert SandblasterSetting(workers=3, servers=2).world_size == 6


@pytest.mark.parametrize("bad", [{"workers": 0}, {"servers": 0}, {"copies": 0}, {"iterations": -1}, {"history": -1}])
def test_settings_that_cannot_be_are_refused(bad: dict) -> None:
    with pytest.raises(ValueError, match="workers, servers and copies must be at least 1"):
        SandblasterSetting(**bad)


@pytest.mark.parametrize("portions", [0, 1438])
def test_a_portion_without_examples_is_refused(portions: int) -> None:
    with pytest.raises(ValueError, match=f"portions must be from 1 to 1437, the training digits, got {portions}"):
        train_sandblaster(portions=portions)


def test_without_history_it_goes_down_the_gradient() -> None:
    history = train_sandblaster(iterations=3, history=0)
    assert history.loss == sorted(history.loss, reverse=True)
    assert len(history.loss) == 4
