"""Adam with states of 8 bits: its first step, its bytes, and that it goes on where it was saved."""

import copy

import pytest
import torch

from course_lib.precision import Adam8bit


def quadratic(optimizer_of, steps=50, size=300):
    """The way of weights towards numbers of very different sizes."""
    goal = torch.logspace(-6, 2, size)
    weights = torch.zeros(size, requires_grad=True)
    optimizer = optimizer_of([weights])
    for _ in range(steps):
        optimizer.zero_grad()
        ((weights - goal) ** 2).sum().backward()
        optimizer.step()
    return weights.detach(), optimizer


def test_by_hand_the_first_step_is_the_rate_in_the_direction_against_the_gradient():
    weights = torch.zeros(3, requires_grad=True)
    weights.grad = torch.tensor([2.0, -8.0, 0.0])
    Adam8bit([weights], lr=0.5).step()
    torch.testing.assert_close(weights.detach(), torch.tensor([-0.5, 0.5, 0.0]))


@pytest.mark.parametrize("block", [None, 1, 7, 256, 1000])
def test_it_goes_where_torchs_adam_goes(block):
    ours, _ = quadratic(lambda w: Adam8bit(w, lr=0.1, block=block))
    theirs, _ = quadratic(lambda w: torch.optim.Adam(w, lr=0.1))
    assert (ours - theirs).abs().max() < 0.2 * theirs.abs().max()


@pytest.mark.parametrize(("block", "size"), [(None, 300), (256, 300), (256, 512), (1, 5)])
def test_its_states_take_two_bytes_and_the_scales(block, size):
    _, optimizer = quadratic(lambda w: Adam8bit(w, block=block), steps=2, size=size)
    [state] = optimizer.state.values()
    blocks = -(-size // block) if block else 1
    held = sum(each.untyped_storage().nbytes() for each in state.values() if isinstance(each, torch.Tensor))
    assert held == 2 * (blocks * (block or size) + 4 * blocks)


def test_without_the_root_small_gradients_beside_large_ones_are_divided_by_nothing():
    steps = {}
    for root in (True, False):
        weights = torch.zeros(2, requires_grad=True)
        optimizer = Adam8bit([weights], lr=1.0, root=root)
        for small in (2.0**-13, 2.0**-20):
            weights.grad = torch.tensor([1.0, small])
            optimizer.step()
        steps[root] = weights.detach().abs().tolist()
    assert steps[True][0] == pytest.approx(2, rel=0.1) == steps[False][0]
    assert steps[True][1] < 2 < 50 < steps[False][1]


def test_a_saved_optimizer_goes_on_to_the_bit():
    _, optimizer = quadratic(lambda w: Adam8bit(w, lr=0.1), steps=5)
    [weights] = optimizer.param_groups[0]["params"]
    other = weights.detach().clone().requires_grad_()
    resumed = Adam8bit([other], lr=0.1)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each, its in ((weights, optimizer), (other, resumed)):
        each.grad = torch.linspace(-1, 1, 300)
        its.step()
    assert torch.equal(weights, other)


def test_what_has_no_gradient_or_no_number_stays_and_a_block_holds_a_number():
    weights, empty = torch.ones(2, requires_grad=True), torch.ones(0, requires_grad=True)
    empty.grad = torch.ones(0)
    Adam8bit([weights, empty]).step()
    assert weights.tolist() == [1, 1]
    with pytest.raises(ValueError, match="1 number or more, or be None, got 0"):
        Adam8bit([weights], block=0)
