"""The torn read: by hand, counted, and cured."""

import pytest
import torch

from course_lib.parameter_server import Message, Server, Sgd, asynchronous, shard_plan
from course_lib.parameter_server.experiments import torn_reads_across_shards, torn_reads_inside_a_shard
from course_lib.parameter_server.experiments.stale_reads import AgreeingWorker, PiecewiseServer, RememberingServer

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 2))]


def row(value: float, length: int = 4) -> torch.Tensor:
    return torch.full((length,), value)


def test_who_pulls_while_a_shard_is_written_reads_two_versions_at_once() -> None:
    server = PiecewiseServer(0, row(0), asynchronous(), [1, 2], Sgd(-1.0), pieces=4, write_s=3.0)
    server.handle(Message("push", 1, clock=1, payload=row(1)), now_s=10.0)
    reads = [
        server.handle(Message("pull", 2), now_s=now_s)[0][1].payload.tolist()
        for now_s in (10.0, 11.0, 12.5, 13.0, 99.0)
    ]
    assert reads == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]


def test_a_plain_server_shows_whole_versions_only() -> None:
    server = Server(0, row(0), asynchronous(), [1, 2], Sgd(-1.0))
    for clock in (1, 2):
        server.handle(Message("push", 1, clock, payload=row(1)), now_s=10.0)
        [(_, answer)] = server.handle(Message("pull", 2), now_s=10.0)
        assert answer.payload.tolist() == [clock] * 4


def test_a_worker_recalls_the_oldest_version_from_those_that_are_ahead() -> None:
    worker = AgreeingWorker(2, dict(enumerate(shard_plan([4], 2))), lambda parameters, clock: parameters)
    worker.begin()
    worker.handle(Message("parameters", 0, version=5, payload=row(5, 2)))
    [(dst, recall)] = worker.handle(Message("parameters", 1, version=4, payload=row(4, 2)))
    assert (dst, recall.kind, recall.version) == (0, "recall", 4)
    assert worker.clock == 0
    outbox = worker.handle(Message("parameters", 0, version=4, payload=row(4, 2)))
    assert [(message.kind, message.version) for _, message in outbox[:2]] == [("push", 4), ("push", 4)]
    assert worker.parameters.tolist() == [4.0] * 4


def test_a_server_remembers_as_many_versions_as_it_was_told() -> None:
    server = RememberingServer(0, row(0), asynchronous(), [1], Sgd(-1.0), remembers=3)
    for clock in range(1, 6):
        server.handle(Message("push", 1, clock, version=clock - 1, payload=row(1)))
    for version in (3, 4, 5):
        [(_, answer)] = server.handle(Message("recall", 1, version=version))
        assert answer.payload.tolist() == [version] * 4
    with pytest.raises(ValueError, match="server 0 remembers versions 3 to 5, worker 1 wants 2"):
        server.handle(Message("recall", 1, version=2))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_longer_the_writing_the_more_reads_are_torn(seed: int) -> None:
    torn = [torn_reads_inside_a_shard(write_s=write_s, seed=seed).torn for write_s in (0.0, 0.001, 0.003, 0.03)]
    assert torn == sorted(torn)
    assert torn[0] == 0
    assert torn[-1] > 150


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("servers", [2, 4])
def test_shards_are_read_torn_and_asking_again_cures_it(servers: int, seed: int) -> None:
    ill = torn_reads_across_shards(servers=servers, seed=seed)
    assert ill.torn > 5
    assert len(set(ill.example)) > 1
    cured = torn_reads_across_shards(servers=servers, seed=seed, cured=True)
    assert cured.torn == 0
    assert cured.asked_again > 0
    assert cured.reads >= 200


def test_one_shard_cannot_be_torn() -> None:
    assert torn_reads_across_shards(servers=1).torn == 0
