"""What a message costs on a network: links, nodes, stragglers, slow links, jitter."""

import math
import statistics
from itertools import product

import pytest

from course_lib import Link, Network, run, simulate


def test_a_message_takes_latency_plus_bytes_over_bandwidth():
    assert Link(latency_s=2.0, bytes_per_s=10.0).seconds(30) == 2.0 + 3.0
    assert Network(latency_s=2.0, bytes_per_s=10.0).seconds(0, 1, 30) == 5.0


def test_an_ideal_network_takes_no_time_whatever_the_size():
    assert [Network().seconds(0, 1, size) for size in (0, 1, 10**12)] == [0.0, 0.0, 0.0]


def test_an_empty_message_takes_the_latency():
    assert Network(latency_s=0.25, bytes_per_s=1.0).seconds(3, 1, 0) == 0.25


@pytest.mark.parametrize(("src", "dst"), list(product(range(6), repeat=2)))
def test_between_nodes_the_outer_link_counts_and_inside_the_inner_one(src, dst):
    # Three nodes of two: 0 1 | 2 3 | 4 5.
    network = Network(latency_s=1.0, bytes_per_s=10.0, ranks_per_node=2, outside=Link(5.0, 2.0))
    same_node = {src, dst} <= {0, 1} or {src, dst} <= {2, 3} or {src, dst} <= {4, 5}
    assert network.crosses_nodes(src, dst) is not same_node
    assert network.seconds(src, dst, 20) == (3.0 if same_node else 15.0)


def test_a_message_occupies_the_ports_of_its_ranks_and_between_nodes_of_its_nodes():
    flat, nodes = Network(), Network(ranks_per_node=2, outside=Link(0.0, 1.0))
    # Four ranks: ports 0-3 out, 4-7 in; nodes 8-9 out, 12-13 in.
    assert flat.ports(0, 3, 4) == (0, 7)
    assert nodes.ports(0, 1, 4) == (0, 5)
    assert nodes.ports(0, 3, 4) == (0, 7, 8, 13)
    assert nodes.ports(2, 1, 4) == (2, 5, 9, 12)


@pytest.mark.parametrize("world_size", [1, 2, 5, 8])
def test_no_two_directions_or_levels_share_a_port_number(world_size):
    network = Network(ranks_per_node=2, outside=Link(0.0, 1.0))
    pairs = [(s, d) for s, d in product(range(world_size), repeat=2) if s != d]
    kinds: dict[int, set] = {}
    for src, dst in pairs:
        owners = [("rank out", src), ("rank in", dst), ("node out", src // 2), ("node in", dst // 2)]
        for port, owner in zip(network.ports(src, dst, world_size), owners, strict=False):
            assert 0 <= port < 4 * world_size
            kinds.setdefault(port, set()).add(owner)
    assert all(len(owners) == 1 for owners in kinds.values())


def test_a_straggler_slows_what_it_sends_receives_and_computes_and_nothing_else():
    network = Network(latency_s=1.0, stragglers={1: 3.0})
    assert network.seconds(1, 0, 0) == network.seconds(2, 1, 0) == 3.0
    assert network.seconds(0, 2, 0) == 1.0
    assert (network.compute_seconds(1, 2.0), network.compute_seconds(0, 2.0)) == (6.0, 2.0)


def test_between_two_stragglers_the_slower_one_sets_the_pace():
    assert Network(latency_s=1.0, stragglers={0: 2.0, 1: 5.0}).seconds(0, 1, 0) == 5.0


def test_a_slow_link_is_slow_in_one_direction():
    network = Network(latency_s=1.0, bytes_per_s=1.0, slow_links={(0, 1): 10.0})
    assert network.seconds(0, 1, 1) == 20.0
    assert network.seconds(1, 0, 1) == 2.0


def test_a_slow_link_of_a_straggler_is_slow_twice():
    assert Network(latency_s=1.0, slow_links={(0, 1): 10.0}, stragglers={0: 2.0}).seconds(0, 1, 0) == 20.0


def _times(**kwargs) -> list[float]:
    network = Network(latency_s=1.0, jitter=0.1, **kwargs)
    return [network.seconds(s, d, 0, nth) for s, d in ((0, 1), (1, 0), (2, 1)) for nth in range(40)]


def test_the_same_seed_gives_the_same_times_to_the_last_bit_and_another_gives_others():
    assert _times(seed=7) == _times(seed=7)
    assert not set(_times(seed=7)) & set(_times(seed=8))


def test_jitter_only_delays_and_differs_between_links_and_messages():
    times = _times(seed=3)
    assert min(times) >= 1.0
    assert len(set(times)) == len(times)


def test_jitter_has_the_mean_and_the_deviation_that_the_docstring_says():
    # Of |N(0, 1)| the mean is sqrt(2 / pi), 0.8, and the deviation sqrt(1 - 2 / pi), 0.6; 3,000 draws come within 5 %.
    network = Network(latency_s=1.0, jitter=0.2)
    extra = [network.seconds(0, 1, 0, nth) - 1.0 for nth in range(3000)]
    assert statistics.fmean(extra) == pytest.approx(0.2 * math.sqrt(2 / math.pi), rel=0.05)
    assert statistics.pstdev(extra) == pytest.approx(0.2 * math.sqrt(1 - 2 / math.pi), rel=0.05)


def test_plain_means_that_all_messages_of_one_size_take_the_same_time():
    assert Network(latency_s=1.0, reduce_s_per_byte=1.0).plain
    assert not Network(jitter=0.1).plain
    assert not Network(stragglers={0: 2.0}).plain
    assert not Network(slow_links={(0, 1): 2.0}).plain
    assert not Network(ranks_per_node=2, outside=Link(0.0, 1.0)).plain


def test_a_network_over_a_link_has_its_times():
    link = Link(1e-3, 5e6, "made up")
    network = Network.over(link, jitter=0.0, seed=4)
    assert network.seconds(0, 1, 12345) == link.seconds(12345)
    assert network.seed == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"latency_s": -1.0}, "latency_s must be"),
        ({"latency_s": math.inf}, "latency_s must be"),
        ({"latency_s": math.nan}, "latency_s must be"),
        ({"bytes_per_s": 0.0}, "bytes_per_s must be more than 0, got 0.0"),
        ({"bytes_per_s": math.nan}, "bytes_per_s must be"),
        ({"ranks_per_node": 2}, "give both or neither"),
        ({"outside": Link(0.0, 1.0)}, "give both or neither"),
        ({"ranks_per_node": 0, "outside": Link(0.0, 1.0)}, "at least 1, got 0"),
        ({"ranks_per_node": 2.5, "outside": Link(0.0, 1.0)}, "a whole number, at least 1, got 2.5"),
        ({"stragglers": {2: 0.0}}, r"stragglers\[2\] must be more than 0, got 0.0"),
        ({"slow_links": {(0, 1): -1.0}}, r"slow_links\[\(0, 1\)\] must be more than 0"),
        ({"stragglers": {2: math.inf}}, r"stragglers\[2\] must be more than 0, got inf"),
        ({"stragglers": {"1": 3.0}}, "stragglers are given by a rank each, a whole number, got '1'"),
        ({"stragglers": {-1: 3.0}}, "stragglers are given by a rank each, a whole number, got -1"),
        ({"stragglers": {True: 3.0}}, "stragglers are given by a rank each, a whole number, got True"),
        ({"slow_links": {1: 3.0}}, r"slow_links are given by a pair of ranks each, \(src, dst\), got 1"),
        ({"slow_links": {(0, 1.5): 3.0}}, r"slow_links are given by a pair .* got \(0, 1.5\)"),
        ({"jitter": math.inf}, "0 or more, got inf"),
        ({"jitter": -0.1}, "0 or more, got -0.1"),
        ({"jitter": math.nan}, "0 or more, got nan"),
        ({"reduce_s_per_byte": -1.0}, "0 or more"),
    ],
)
def test_what_no_network_can_be_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Network(**arguments)


@pytest.mark.parametrize("execute", [simulate, run])
def test_ranks_that_do_not_exist_are_refused_where_a_program_runs(execute):
    for network, name in (
        (Network(stragglers={0: 2.0, 9: 3.0}), "stragglers"),
        (Network(slow_links={(9, 0): 3.0}), "slow_links"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be ranks from 0 to 1, the network names rank 9"):
            execute(lambda comm: None, 2, network=network)


def test_equal_networks_are_one_key_and_a_network_never_changes():
    factors = {1: 2.0}
    one, same = Network(stragglers=factors), Network(stragglers={1: 2.0})
    assert len({one, same, Network(), Network(slow_links={(0, 1): 2.0})}) == 3
    factors[1] = 3.0
    assert one == same
