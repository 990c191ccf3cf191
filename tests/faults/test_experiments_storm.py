"""Four designs in a storm, with deaths placed by hand."""

import itertools
import math

import pytest

from course_lib.faults.experiments import DESIGNS, NodeFailure, Weather, failures_of, train_in
from course_lib.parameter_server.experiments import Speeds
from course_lib.tasks import load_digits

DIGITS = load_digits()
# A gradient each second, nothing else takes time: 4 nodes, a checkpoint every √(2 · 1 · 18 / 4) = 3 s.
EVEN = {"speeds": Speeds(gradient_s=1.0, spread=0.0), "exchange_s": 0.0, "save_s": 1.0, "points": 20}
PLAIN = Weather(nodes=4, seconds=20.5, node_mtbf_s=18.0, **EVEN)


def kept(design: str, *failures: NodeFailure) -> int:
    trial = DESIGNS[design](PLAIN, DIGITS)
    trial.run(failures)
    return trial.kept


def test_the_same_nodes_die_at_the_same_times_and_come_back() -> None:
    weather = Weather(node_mtbf_s=30.0, repair_s=5.0, seed=2)
    failures = failures_of(weather)
    assert failures == sorted(failures) == failures_of(weather) != failures_of(Weather(node_mtbf_s=30.0, seed=3))
    for node in range(weather.nodes):
        own = [failure for failure in failures if failure.node == node]
        assert all(first.back_s == first.at_s + 5 <= second.at_s for first, second in itertools.pairwise(own))


def test_as_many_nodes_die_as_their_mean_time_says() -> None:
    weather = Weather(nodes=50, seconds=20_000.0, node_mtbf_s=90.0, repair_s=10.0)
    assert len(failures_of(weather)) == pytest.approx(50 * 20_000 / 100, rel=0.03)


def test_designs_without_failures_keep_all_that_their_rules_allow() -> None:
    # All-reduce: three steps and a checkpoint take 4 s; 15 steps in 20.5 s.
    assert [kept(design) for design in DESIGNS] == [4 * 15, 20, 3 * 20, 4 * 20]


def test_all_reduce_loses_what_is_newer_than_its_checkpoint() -> None:
    # Checkpoint at 4 s; dies at 6.5 s, after two more steps; from 10 s on again: 3 steps, a checkpoint, 3, one.
    assert kept("all-reduce", NodeFailure(6.5, 2, 10.0)) == 4 * (3 + 3 + 3 + 2)


def test_all_reduce_waits_until_the_last_dead_node_is_back() -> None:
    assert kept("all-reduce", NodeFailure(0.5, 1, 30.0), NodeFailure(0.6, 2, 1.0)) == 0


def test_a_dead_worker_costs_an_asynchronous_server_only_its_own_gradients() -> None:
    assert kept("asynchronous server", NodeFailure(6.5, 2, 10.0)) == 3 * 20 - 4  # the 7th to the 10th


def test_a_dead_server_costs_everybody_its_absence_and_nothing_that_was_in() -> None:
    # At 7 s each worker has one ready, which the server takes at 10 s.
    assert kept("asynchronous server", NodeFailure(6.5, 0, 10.0)) == 3 * (7 + 10)


def test_backup_workers_go_on_until_more_have_died_than_there_are_backups() -> None:
    assert kept("2 backup workers", NodeFailure(0.5, 1, 30.0), NodeFailure(0.5, 2, 30.0)) == 20
    assert kept("2 backup workers", *(NodeFailure(0.5, worker, 30.0) for worker in (1, 2, 3))) == 0


def test_gossip_goes_on_with_whoever_is_there() -> None:
    assert kept("gossip", *(NodeFailure(0.5, node, 30.0) for node in (0, 1, 2))) == 20
    assert kept("gossip", *(NodeFailure(0.5, node, 10.0) for node in range(4))) == 4 * 10


def test_who_returns_to_gossip_takes_the_parameters_of_one_that_is_there() -> None:
    trial = DESIGNS["gossip"](Weather(nodes=2, seconds=9.8, node_mtbf_s=18.0, **EVEN), DIGITS)
    trial.run([NodeFailure(5.5, 0, 9.5)])
    assert trial._rows[0].equal(trial._rows[1])


@pytest.mark.parametrize("design", DESIGNS)
def test_equal_weather_gives_an_equal_training(design: str) -> None:
    weather = Weather(nodes=4, seconds=30.0, node_mtbf_s=20.0, repair_s=3.0)
    first, again = (train_in(weather, design, DIGITS) for _ in range(2))
    assert first == again
    assert len(first.loss) == weather.points + 1


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_trains_in_calm_weather(design: str) -> None:
    progress = train_in(Weather(seconds=60.0, node_mtbf_s=math.inf), design, DIGITS)
    assert progress.loss[-1] < progress.loss[0] / 2
