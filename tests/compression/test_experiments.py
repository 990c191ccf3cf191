"""What the page trains: remedies that make the network itself smaller."""

import pytest

from course_lib import simulate
from course_lib.compression.experiments import REMEDIES, prune_and_train_on, train_with
from course_lib.tasks import digits_model, load_digits


@pytest.mark.parametrize("world_size", [2, 3])
def test_a_smaller_network_sends_its_own_gradients_and_no_more(world_size: int) -> None:
    names = ["thin matrices, rank 4", "tensor train, rank 4", "half of the neurons"]
    for name in names:
        sent = simulate(train_with, world_size, (load_digits(), name), {"steps": 2}).trace.bytes_sent[0] / 2
        model = digits_model()
        REMEDIES[name](model)
        gradient_bytes = 4 * sum(parameter.numel() for parameter in model.parameters())
        share = 2 * (world_size - 1) / world_size
        assert sent == pytest.approx(share * gradient_bytes, rel=0.01)


@pytest.mark.parametrize(("remedy", "kept"), [("magnitude pruning, 25% kept", 0.27), ("half of the neurons", 0.51)])
def test_a_network_that_was_trained_and_pruned_sends_what_is_left_of_it(remedy: str, kept: float) -> None:
    report = simulate(prune_and_train_on, 2, args=(load_digits(), remedy, 32, 3))
    dense = 4 * sum(parameter.numel() for parameter in digits_model().parameters())  # 2 (p - 1) / p is 1
    assert report.trace.bytes_sent[0] / 3 == pytest.approx((1 + kept) * dense, rel=0.02)
    assert len(report.results[0]) == 3
    assert report.results[0] == report.results[1]
