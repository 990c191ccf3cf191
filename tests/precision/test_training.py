"""Master weights, the step, and trainings: mixed precision follows fp32, and what is left out shows."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from course_lib.precision import (
    DynamicScaler,
    MasterWeights,
    StaticScaler,
    mixed_step,
    round_model,
    stochastic_rounding,
)
from course_lib.precision.experiments.problems import AUTOENCODER, TEXT, digits_classifier
from course_lib.precision.experiments.recipes import FP32_RECIPE, MIXED, Recipe, add_in_fp32, train
from course_lib.tasks import load_digits, scores


def one_weight(value: float, **settings) -> tuple[nn.Linear, MasterWeights]:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model, MasterWeights(model, **settings)


def descend(master: MasterWeights, steps: int, update: float) -> None:
    optimizer = torch.optim.SGD(master.parameters, lr=1.0)
    for _ in range(steps):
        master.rounded[0].grad = torch.full_like(master.rounded[0], -update)
        master.take_gradients()
        optimizer.step()
        master.round_back()


def test_a_weight_2048_times_its_update_swallows_it_and_a_master_copy_gathers_it():
    # Above 1 the spacing of fp16 is 2^-10: an update of 2^-11 is half of it, and the tie goes back to the even 1.
    for steps in (1, 2, 1000):
        model, alone = one_weight(1.0, keep=False)
        descend(alone, steps, 2.0**-11)
        assert model.weight.item() == 1
    model, master = one_weight(1.0)
    descend(master, 1000, 2.0**-11)
    assert master.parameters[0].item() == 1 + 1000 * 2.0**-11
    assert model.weight.item() == 1.48828125  # the nearest fp16 to 1.48828125
    assert model.weight.dtype == torch.float16


def test_weights_that_are_rounded_by_chance_move_on_average_as_far_as_they_should():
    model = nn.Linear(64, 64, bias=False)
    nn.init.constant_(model.weight, 1.0)
    master = MasterWeights(model, torch.bfloat16, keep=False, rounding=stochastic_rounding(torch.bfloat16))
    descend(master, 100, 2.0**-11)
    # 100 updates of 1/16 of the spacing: the mean of 4,096 weights, whose scatter is below 2.5 spacings / 64 each.
    moved = (model.weight.double().mean().item() - 1) / 2**-7
    assert abs(moved - 100 / 16) < 5 * 2.5 / 64


def test_gradients_move_to_the_master_copy_in_fp32():
    model, master = one_weight(2.0)
    model(torch.ones(1, 1, dtype=torch.float16)).sum().backward()
    (gradient,) = master.take_gradients()
    assert gradient.dtype == torch.float32
    assert gradient.item() == 1
    assert model.weight.grad is None
    assert master.take_gradients() == []


def test_an_overflow_skips_the_step_and_halves_the_scale():
    model, master = one_weight(1.0)
    optimizer = torch.optim.SGD(master.parameters, lr=0.5)
    scaler = DynamicScaler(2.0**17)  # beyond fp16's range, as the gradient is the scale itself
    x = torch.ones(1, 1, dtype=torch.float16)
    finite = [mixed_step(master, optimizer, scaler, lambda: model(x).float().sum())[1] for _ in range(3)]
    assert finite == [False, False, True]  # 2^17 and 2^16 are infinite in fp16, 2^15 is not
    assert scaler.scale == 2.0**15
    assert model.weight.item() == 0.5


def test_normalizations_stay_in_fp32_and_give_16_bits():
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    round_model(model, torch.float16)
    dtypes = [parameter.dtype for parameter in model.parameters()]
    assert dtypes == [torch.float16] * 2 + [torch.float32] * 4 + [torch.float16] * 2
    assert model(torch.zeros(3, 4, dtype=torch.float16)).dtype == torch.float16


def test_each_kind_of_normalization_stays_in_fp32():
    kinds = [nn.RMSNorm(4), nn.InstanceNorm1d(4, affine=True), nn.BatchNorm3d(4), nn.GroupNorm(2, 4), nn.LayerNorm(4)]
    model = nn.ModuleList(kinds)
    round_model(model, torch.float16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert model[0](torch.ones(2, 4, dtype=torch.float16)).dtype == torch.float16


def test_buffers_are_rounded_with_their_model_and_whole_numbers_are_not():
    class Placed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("places", torch.arange(4.0))
            self.register_buffer("order", torch.tensor([3, 2, 1, 0]))

        def forward(self, x):
            return self.layer(x + self.places)[:, self.order]

    model = Placed()
    round_model(model, torch.bfloat16)
    assert model(torch.ones(2, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert (model.places.dtype, model.order.dtype) == (torch.bfloat16, torch.int64)


@pytest.mark.parametrize("finite", [True, False])
def test_with_adam_a_parameter_takes_16_bytes_after_each_backward_pass(finite):
    model = nn.Linear(64, 64, bias=False)
    master = MasterWeights(model)
    optimizer = torch.optim.Adam(master.parameters)
    x = torch.ones(1, 64, dtype=torch.float16)
    for _ in range(2):
        mixed_step(master, optimizer, StaticScaler(1.0 if finite else 2.0**17), lambda: model(x).float().sum())
    mixed_step(master, optimizer, StaticScaler(1.0), lambda: model(x).float().sum())
    model(x).float().sum().backward()
    held = [model.weight, model.weight.grad, master.parameters[0], master.parameters[0].grad]
    held += [value for value in optimizer.state[master.parameters[0]].values() if value.dim()]
    assert sum(tensor.nbytes for tensor in held if tensor is not None) == 16 * 64 * 64


def test_a_cell_that_makes_master_weights_can_be_run_again():
    model, _ = one_weight(1.0)
    again = MasterWeights(model)
    descend(again, 1000, 2.0**-11)
    assert again.parameters[0].dtype == torch.float32
    assert again.parameters[0].item() == 1 + 1000 * 2.0**-11


def test_with_numbers_that_fp16_has_mixed_precision_is_fp32_to_the_last_bit():
    """Whole weights, whole inputs, a power of two as rate and scale: nothing is rounded."""
    models = []
    for dtype, scaler in ((torch.float32, StaticScaler()), (torch.float16, DynamicScaler(8.0))):
        draw = torch.Generator().manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 5, bias=False), nn.ReLU(), nn.Linear(5, 3, bias=False))
        for parameter in model.parameters():
            parameter.data = torch.randint(-2, 3, parameter.shape, generator=draw).float()
        master = MasterWeights(model, dtype)
        optimizer = torch.optim.SGD(master.parameters, lr=1 / 16)
        for _ in range(2):
            x = torch.randint(-2, 3, (4, 6), generator=draw).to(dtype)
            mixed_step(master, optimizer, scaler, lambda x=x, model=model: model(x).float().sum())
        models.append(model.float())
    assert all(torch.equal(a, b) for a, b in zip(*map(nn.Module.parameters, models), strict=True))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_mixed_precision_follows_fp32_on_digits(seed):
    digits = load_digits()
    results = []
    for recipe in (FP32_RECIPE, MIXED, Recipe(torch.bfloat16, scale=None)):
        history = train(digits_classifier(), recipe, 150, seed)
        results.append(scores(history.model.float(), digits.test_inputs, digits.test_labels))
    (loss, right), *others = results
    assert loss < 1.2  # it has learned
    for other_loss, other_right in others:
        assert abs(other_loss - loss) < 0.01 * loss
        assert abs(other_right - right) <= 0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_mixed_precision_follows_fp32_on_a_language_model(seed):
    fp32, mixed = (train(TEXT, recipe, 40, seed).final_loss for recipe in (FP32_RECIPE, MIXED))
    assert fp32 < 3.3  # of ln 256 = 5.5 at first
    assert abs(mixed - fp32) < 0.01 * fp32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (0,), (3,), (2, 5)])
def test_layers_that_add_in_fp32_are_torchs_own(dtype, bias, batch):
    """Whole numbers, whose sums are exact in any order; 300 ones beyond bf16's 256 show where a sum would swallow."""
    draw = torch.Generator().manual_seed(0)
    theirs = nn.Linear(300, 7, bias=bias)
    for parameter in theirs.parameters():
        parameter.data = torch.randint(-1, 2, parameter.shape, generator=draw).to(dtype)
    theirs.weight.data[0] = 1
    ours = add_in_fp32(nn.Sequential(deepcopy(theirs)))
    x = torch.randint(-1, 2, (*batch, 300), generator=draw).to(dtype)
    x[..., :] = x.where(torch.rand(x.shape, generator=draw) < 0.5, torch.ones_like(x))
    found = []
    for layer in (theirs, ours):
        inputs = x.clone().requires_grad_()
        y = layer(inputs)
        found.append([y, *torch.autograd.grad(y.sum(), [inputs, *layer.parameters()])])
    assert all(torch.equal(a, b) and a.dtype == b.dtype == dtype for a, b in zip(*found, strict=True))


def test_small_gradients_need_a_scaled_loss():
    means = {}
    for name, recipe in {"fp32": FP32_RECIPE, "mixed": MIXED, "unscaled": Recipe(scale=None)}.items():
        means[name] = train(AUTOENCODER, recipe, 260).final_loss
    assert abs(means["mixed"] - means["fp32"]) < 0.01 * means["fp32"]
    assert means["unscaled"] > 1.15 * means["fp32"]


def test_a_clipped_run_unscales_first_unless_it_is_told_to_make_the_mistake():
    def ends(**settings):
        return train(digits_classifier(), Recipe(torch.float32, **settings), 20).model.state_dict()

    def same(one, other):
        return all(torch.allclose(one[name], other[name], rtol=1e-4, atol=1e-6) for name in one)

    clipped = ends(scale=None, clip=0.1)
    assert not same(clipped, ends(scale=None))
    assert same(clipped, ends(scale=2.0**8, clip=0.1))
    assert same(ends(scale=2.0**8, clip=0.1, clip_scaled=True), ends(scale=None, clip=0.1 / 2**8))


def test_bf16_weights_lose_small_updates_and_rounding_by_chance_keeps_them():
    recipes = {
        "fp32": FP32_RECIPE,
        "master": Recipe(torch.bfloat16, scale=None),
        "alone": Recipe(torch.bfloat16, scale=None, master=False),
        "by chance": Recipe(torch.bfloat16, scale=None, master=False, stochastic=True),
    }
    losses = {}
    for name, recipe in recipes.items():
        losses[name] = train(digits_classifier(0.02, 256), recipe, 300).final_loss
    assert abs(losses["master"] - losses["fp32"]) < 0.005
    assert abs(losses["by chance"] - losses["fp32"]) < 0.03
    assert losses["alone"] > losses["fp32"] + 0.15
