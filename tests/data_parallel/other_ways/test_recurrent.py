"""Streams of text split over ranks train as one process does; stretches of time wait or lose gradient."""

import copy

import pytest
import torch
from torch.nn import functional

from course_lib import Network, RankError, run, simulate
from course_lib.data_parallel import (
    CharacterModel,
    check_agreement,
    parallel_streams,
    time_split_gradient,
    train_on_streams,
    windows,
)
from course_lib.tasks import encode, load_source_text

TEXT = load_source_text(6000)
WINDOW = 12


def small_model() -> tuple[torch.Tensor, CharacterModel]:
    """The text's codes and a model of them in float64."""
    codes, alphabet = encode(TEXT)
    torch.manual_seed(0)
    return codes, CharacterModel(len(alphabet), hidden=8).double()


def one_process(model: CharacterModel, streams: torch.Tensor, steps: int, carry: bool = True) -> CharacterModel:
    """Truncated back-propagation over all streams at once, written down apart from the library's."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    state = None
    for step in range(steps):
        begin, end = step * WINDOW, (step + 1) * WINDOW
        outputs, state = model.gru(model.embedding(streams[:, begin:end]), state if carry else None)
        state = state.detach()
        loss = functional.cross_entropy(model.output(outputs).flatten(0, 1), streams[:, begin + 1 : end + 1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def trained(comm, model, streams, steps):
    """The losses and parameters of a training whose ranks were seen to agree."""
    losses, model = train_on_streams(comm, model, streams, window=WINDOW, steps=steps)
    check_agreement(comm, model)
    return losses, [parameter.detach() for parameter in model.parameters()]


def test_text_becomes_streams_and_windows_as_drawn() -> None:
    codes, alphabet = encode("the cat sat ")
    streams = parallel_streams(codes, 2)
    shown = [["".join(alphabet[code] for code in row) for row in stream] for stream in (streams, streams[:, 1:])]
    assert shown[0] == ["the ca", "t sat "]
    pairs = [[["".join(alphabet[c] for c in row) for row in side] for side in pair] for pair in windows(streams, 2)]
    assert pairs == [[["th", "t "], ["he", " s"]], [["e ", "sa"], [" c", "at"]]]  # the last ones have no next character


@pytest.mark.parametrize("length", [1, 4, 5, 8, 9])
def test_windows_hold_each_character_once_and_a_target_for_each(length: int) -> None:
    stream = torch.arange(length).view(1, -1)
    pairs = list(windows(stream, 4))
    assert len(pairs) == (length - 1) // 4
    for number, (inputs, targets) in enumerate(pairs):
        assert inputs.flatten().tolist() == list(range(4 * number, 4 * number + 4))
        assert torch.equal(targets, inputs + 1)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 6])
def test_ranks_with_a_part_of_the_streams_train_as_one_process_with_all(world_size: int) -> None:
    codes, model = small_model()
    streams = parallel_streams(codes, 6)  # four ranks have two, two, one and one of them
    joined = one_process(copy.deepcopy(model), streams, steps=8)
    for _, parameters in simulate(trained, world_size, (model, streams, 8)).results:
        torch.testing.assert_close(parameters, list(joined.parameters()), rtol=1e-9, atol=1e-9)


def test_the_equality_is_of_trainings_that_carry_the_state() -> None:
    codes, model = small_model()
    streams = parallel_streams(codes, 6)
    carried, forgotten = (one_process(copy.deepcopy(model), streams, steps=8, carry=c) for c in (True, False))
    assert not torch.allclose(carried.output.weight, forgotten.output.weight, rtol=1e-4)


def test_real_processes_train_as_simulated_ones() -> None:
    codes, model = small_model()
    args = model, parallel_streams(codes, 6), 4
    real, simulated = run(trained, 2, args).results[0], simulate(trained, 2, args).results[0]
    torch.testing.assert_close(real, simulated, rtol=1e-9, atol=1e-9)


def test_the_loss_is_that_of_all_streams_and_falls() -> None:
    codes, model = small_model()
    streams = parallel_streams(codes, 6)
    losses, _ = simulate(trained, 4, (model.float(), streams, None)).results[0]
    inputs, targets = next(windows(streams, WINDOW))
    scores, _ = model(inputs, model.first_state(6))
    assert losses[0] == pytest.approx(functional.cross_entropy(scores.transpose(1, 2), targets).item(), rel=1e-5)
    assert sum(losses[-5:]) / 5 < losses[0] - 0.8


def split_time(
    world_size: int, relay: str, network: Network | None = None, pieces: int = 1
) -> tuple[torch.Tensor, float]:
    """The gradient of 24 characters of 4 streams and the simulated seconds, one second for each character forward."""
    codes, model = small_model()
    inputs, targets = next(windows(parallel_streams(codes, 4), 24))
    report = simulate(
        time_split_gradient, world_size, (model, inputs, targets), {"relay": relay, "pieces": pieces}, network
    )
    assert all(torch.equal(gradient, report.results[0]) for gradient in report.results)
    return report.results[0], report.seconds


@pytest.mark.parametrize("world_size", [1, 2, 5, 8])
def test_stretches_that_wait_for_each_other_find_the_gradient_and_save_no_time(world_size: int) -> None:
    codes, model = small_model()
    inputs, targets = next(windows(parallel_streams(codes, 4), 24))
    scores, _ = model(inputs, model.first_state(4))
    functional.cross_entropy(scores.flatten(0, 1), targets.flatten()).backward()
    whole = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    gradient, seconds = split_time(world_size, "both")
    torch.testing.assert_close(gradient, whole, rtol=1e-9, atol=1e-12)
    assert seconds == 24 * (1 + 2)  # what one rank needs


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
@pytest.mark.parametrize("pieces", [2, 4])
def test_streams_that_go_through_one_after_the_other_find_the_gradient_and_save_time(world_size, pieces) -> None:
    whole, alone_s = split_time(1, "both")
    gradient, seconds = split_time(world_size, "both", pieces=pieces)
    torch.testing.assert_close(gradient, whole, rtol=1e-9, atol=1e-12)
    assert seconds == pytest.approx(alone_s * (pieces + world_size - 1) / (pieces * world_size))


@pytest.mark.parametrize("pieces", [0, 5])
def test_pieces_are_of_one_stream_at_least(pieces) -> None:
    with pytest.raises(RankError, match=f"pieces must be from 1 to 4 streams, got {pieces}"):
        split_time(2, "both", pieces=pieces)


def test_pieces_of_unequal_streams_find_the_gradient_too() -> None:
    torch.testing.assert_close(split_time(3, "both", pieces=3)[0], split_time(1, "both")[0], rtol=1e-9, atol=1e-12)


def test_messages_make_the_relay_slower_than_one_rank() -> None:
    _, alone = split_time(1, "both")
    _, relay = split_time(4, "both", Network(latency_s=0.5))
    all_reduce_s = 2 * 3 * 0.5
    assert relay == alone + 2 * 3 * 0.5 + all_reduce_s  # three borders, there and back


@pytest.mark.parametrize("world_size", [2, 4, 8])
def test_stretches_that_do_not_wait_are_faster_and_wrong(world_size: int) -> None:
    whole, _ = split_time(1, "both")
    error, seconds = {}, {}
    for relay in ("forward", "none"):
        gradient, seconds[relay] = split_time(world_size, relay)
        error[relay] = ((gradient - whole).norm() / whole.norm()).item()
    assert 0.01 < error["forward"] < error["none"]
    assert seconds == {"forward": 24 + 2 * 24 / world_size, "none": 3 * 24 / world_size}


def test_more_borders_lose_more_of_the_gradient() -> None:
    whole, _ = split_time(1, "both")
    errors = [(split_time(world_size, "none")[0] - whole).norm().item() for world_size in (1, 2, 4, 8)]
    assert errors == sorted(errors)
    assert errors[0] == 0


def test_impossible_streams_and_relays_are_refused() -> None:
    with pytest.raises(ValueError, match="streams must be from 1 to the text's 3 characters, got 4"):
        parallel_streams(torch.arange(3), 4)
    codes, model = small_model()
    with pytest.raises(RankError, match="3 ranks must have a stream each, got 2"):
        simulate(train_on_streams, 3, (model, parallel_streams(codes, 2)), {"window": 4})
    with pytest.raises(RankError, match='relay must be "both", "forward" or "none"'):
        split_time(2, "backward")
    with pytest.raises(RankError, match="25 ranks must have a character each, got 24"):
        split_time(25, "both")
    with pytest.raises(RankError, match="streams must be longer than a window of 4, got 4 characters"):
        simulate(train_on_streams, 1, (model, torch.zeros(2, 4, dtype=torch.int64)), {"window": 4})
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        next(windows(torch.zeros(2, 4), 0))
