"""Rule: a stage takes what the stage before gives, in its dtype: losses and gradients are those of one process."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import RankError, run, simulate
from course_lib.pipeline.executor import run_schedule
from course_lib.pipeline.schedules import SCHEDULES
from course_lib.precision import round_model

BF16, FP16 = torch.bfloat16, torch.float16


class Residual(nn.Module):
    """fp32 under autocast, where what it adds to is: then the dtype depends on the stage before."""

    def __init__(self):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        return x + self.inner(self.norm(x))


class Complex(nn.Module):
    def forward(self, x):
        return torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))


class Real(nn.Module):
    def forward(self, x):
        return torch.view_as_real(x).flatten(-2)


def layers(kind):
    torch.manual_seed(0)
    return {
        "linears": [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)],
        "residuals": [nn.Linear(4, 4), Residual(), nn.Sequential(Residual(), nn.LayerNorm(4))],
        "norm first": [nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 4)],
        "in place": [nn.Linear(4, 4), nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4)), nn.ReLU(inplace=True)],
        "complex": [nn.Sequential(nn.Linear(4, 4), Complex()), nn.Identity(), nn.Sequential(Real(), nn.Linear(4, 4))],
    }[kind]


SETTINGS = {  # autocast to, parameters rounded to
    "fp32": (None, None),
    "autocast to bf16": (BF16, None),
    "autocast to fp16": (FP16, None),
    "bf16": (None, BF16),
}


def prepared(kind, setting):
    autocast, rounded = SETTINGS[setting]
    stages = layers(kind)
    for stage in stages if rounded else []:
        round_model(stage, rounded)
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1)).to(rounded or torch.float32)
    return stages, list(x.chunk(2)), torch.autocast("cpu", autocast or BF16, enabled=autocast is not None)


def loss_of(y, number=0):
    return y.float().square().mean() / 2


def piped(comm, kind, setting, schedule, recompute=False, tells=False):
    stages, inputs, autocast = prepared(kind, setting)
    shape = (2, 2) if kind == "complex" else (2, 4)
    with autocast:
        done = run_schedule(
            comm,
            SCHEDULES[schedule](3, 2),
            {comm.rank: stages[comm.rank]},
            inputs,
            lambda stage, number: shape,
            loss_of,
            recompute=recompute,
            tells_dtype=tells,
        )
    return sum(done.losses.values()), [p.grad for p in stages[comm.rank].parameters()]


def alone(kind, setting):
    stages, inputs, autocast = prepared(kind, setting)
    total = 0.0
    for x in inputs:
        with autocast:
            loss = loss_of(nn.Sequential(*stages)(copy.copy(x)))
        loss.backward()
        total += loss.item()
    return total, [[p.grad for p in stage.parameters()] for stage in stages]


def assert_alike(results, expected):
    assert results[2][0] == pytest.approx(expected[0], rel=1e-6)
    for (_, ours), theirs in zip(results, expected[1], strict=True):
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-2 if one.dtype == BF16 else 1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["linears", "residuals", "norm first", "in place"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("schedule", ["GPipe", "1F1B"])
def test_a_pipeline_computes_what_one_process_computes(kind, setting, schedule):
    assert_alike(simulate(piped, 3, args=(kind, setting, schedule)).results, alone(kind, setting))


@pytest.mark.parametrize("kind", ["linears", "residuals"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_so_does_one_that_recomputes(kind, setting):
    assert_alike(simulate(piped, 3, args=(kind, setting, "1F1B", True)).results, alone(kind, setting))


def test_messages_of_another_dtype_than_the_parameters_are_told_where_ranks_say_so():
    assert_alike(simulate(piped, 3, args=("complex", "fp32", "1F1B", False, True)).results, alone("complex", "fp32"))
    with pytest.raises(Exception, match="the two sides of a message disagree"):
        simulate(piped, 3, args=("complex", "fp32", "1F1B"))


def test_real_processes_do_the_same():
    results = run(piped, 3, args=("residuals", "autocast to bf16", "1F1B"), device="cpu").results
    assert_alike(results, alone("residuals", "autocast to bf16"))


def test_what_is_told_costs_a_byte_for_each_message_and_nothing_in_fp32():
    def sent(setting):
        return simulate(piped, 3, args=("linears", setting, "1F1B")).trace.total_bytes

    messages = 2 * 2 * 2  # two micro-batches, two edges, there and back
    assert sent("fp32") == messages * 8 * 4
    assert sent("bf16") == messages * (8 * 2 + 1)


def test_numbers_that_have_no_gradients_are_refused():
    class Counts(nn.Module):
        def forward(self, x):
            return x.round().int()

    def program(comm):
        stages = [Counts(), nn.Identity()]
        inputs, schedule = [torch.ones(1)], SCHEDULES["GPipe"](2, 1)
        run = partial(run_schedule, comm, schedule, {comm.rank: stages[comm.rank]}, inputs, tells_dtype=True)
        run(shape_of=lambda s, i: (1,), loss=lambda y, i: y.sum())

    with pytest.raises(
        RankError, match=r"a stage must give numbers that have gradients, F0 of stage 0 gives torch.int32"
    ):
        simulate(program, 2)
