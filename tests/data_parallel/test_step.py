"""The model of a step's time is what the simulator measures, and it has a best size of buckets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, simulate
from course_lib.collectives import ALL_REDUCES
from course_lib.data_parallel import LayerCost, equal_layers, step_timeline
from course_lib.data_parallel.experiments.timed_layers import timed_step

ALIGNED = 2 * 3 * 4 * 4 * 4  # bytes that 1 to 4 ranks cut into equal chunks of float32, and chunks into halves
SECONDS = st.floats(0, 0.1)
LAYER = st.builds(LayerCost, st.integers(1, 20).map(lambda n: n * ALIGNED), SECONDS, SECONDS)
EXACT = [(name, ranks) for name in ("ring", "pipelined ring") for ranks in (1, 2, 3, 4)]
EXACT += [(name, ranks) for name in ("recursive doubling", "halving-doubling") for ranks in (2, 4)]
NETWORK = st.builds(Network, latency_s=st.floats(0, 0.01), bytes_per_s=st.floats(1e4, 1e8))


def simulated_s(layers, world_size, network, bucket_bytes, overlap, all_reduce) -> list[float]:
    options = {"overlap": overlap, "all_reduce": ALL_REDUCES[all_reduce], "device": "meta"}
    return simulate(timed_step, world_size, (layers, bucket_bytes), options, network, ranks="threads").results


def test_three_layers_by_hand() -> None:
    layers = [LayerCost(4000, 1.0, 2.0), LayerCost(4000, 1.0, 4.0), LayerCost(8000, 1.0, 2.0)]
    line = step_timeline(layers, network=Network(bytes_per_s=4000), world_size=2, bucket_bytes=8000)
    assert [tuple(row) for row in line.forward] == [(0, 0, 1), (1, 1, 2), (2, 2, 3)]
    assert [tuple(row) for row in line.backward] == [(2, 3, 5), (1, 5, 9), (0, 9, 11)]
    assert [tuple(row) for row in line.all_reduces] == [(0, 5, 7), (1, 11, 13)]
    assert [bucket.numbers for bucket in line.buckets] == [(2,), (1, 0)]
    assert (line.compute_s, line.seconds) == (11, 13)
    late = step_timeline(layers, network=Network(bytes_per_s=4000), world_size=2, bucket_bytes=8000, overlap=False)
    assert [tuple(row) for row in late.all_reduces] == [(0, 11, 13), (1, 13, 15)]


@settings(max_examples=25)
@given(
    layers=st.lists(LAYER, min_size=1, max_size=5),
    ranks=st.sampled_from(EXACT),
    network=NETWORK,
    bucket_bytes=st.integers(1, 60 * ALIGNED),
    overlap=st.booleans(),
)
def test_the_model_is_what_the_simulator_measures(layers, ranks, network, bucket_bytes, overlap) -> None:
    all_reduce, world_size = ranks
    options = {"network": network, "bucket_bytes": bucket_bytes, "overlap": overlap, "all_reduce": all_reduce}
    computed = step_timeline(layers, world_size=world_size, **options).seconds
    measured = simulated_s(layers, world_size, **options)
    assert measured == pytest.approx([computed] * world_size, rel=1e-9, abs=1e-12)


def test_there_is_a_best_bucket_size() -> None:
    layers = equal_layers(64, parameter_bytes=100_000_000, forward_s=0.05, backward_s=0.1)
    network = Network(latency_s=250e-6, bytes_per_s=2.5e9)
    sizes = [2**power for power in range(14, 28)]
    curve = [step_timeline(layers, network=network, world_size=8, bucket_bytes=size).seconds for size in sizes]
    best = curve.index(min(curve))
    assert 0 < best < len(curve) - 1
    assert curve[0] > 1.2 * curve[best] < curve[-1]
    assert curve[: best + 1] == sorted(curve[: best + 1], reverse=True)
    assert curve[best:] == sorted(curve[best:])


@given(st.lists(LAYER, min_size=1, max_size=8), NETWORK, st.integers(1, 30 * ALIGNED))
def test_overlap_never_costs_time_and_never_hides_more_than_backward(layers, network, bucket_bytes) -> None:
    with_it, without = (
        step_timeline(layers, network=network, world_size=4, bucket_bytes=bucket_bytes, overlap=overlap)
        for overlap in (True, False)
    )
    hidden_s = without.seconds - with_it.seconds
    assert -1e-12 <= hidden_s <= sum(layer.backward_s for layer in layers) + 1e-12
    assert with_it.compute_s == without.compute_s <= with_it.seconds


def test_equal_layers_have_the_bytes_and_seconds_of_the_model() -> None:
    layers = equal_layers(10, parameter_bytes=4001, forward_s=1.0, backward_s=2.0)
    assert {layer.parameter_bytes for layer in layers} == {400}
    assert sum(layer.backward_s for layer in layers) == pytest.approx(2.0)


def test_a_step_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        equal_layers(0, parameter_bytes=4, forward_s=1.0, backward_s=1.0)
    with pytest.raises(ValueError, match=r"a step needs a layer and one of .*ring.*, got 0 layers and 'ring'"):
        step_timeline([], network=Network(), world_size=2)
    with pytest.raises(ValueError, match="got 1 layers and 'star'"):
        step_timeline([LayerCost(4, 1.0, 1.0)], network=Network(), world_size=2, all_reduce="star")
