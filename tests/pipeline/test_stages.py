"""The GPT in stages: one model's loss and gradients, the embedding's too, which lies on two ranks."""

import pytest
import torch

from course_lib import run, simulate
from course_lib.pipeline import SCHEDULES, GPTStage, gpt_stages, run_schedule, sum_tied_gradients
from course_lib.tasks import GPT, GPTConfig, next_token_loss

CONFIG = GPTConfig(vocabulary=11, context=6, layers=4, width=8, heads=2)
BATCH = 7
TOKENS, TARGETS = torch.randint(11, (2, BATCH, 6), generator=torch.Generator().manual_seed(3))


def one_step(comm, schedule, config):
    inputs, targets = TOKENS.tensor_split(schedule.micro_batches), TARGETS.tensor_split(schedule.micro_batches)
    stages = {stage: part.double() for stage, part in gpt_stages(config, schedule, comm.rank).items()}
    rank = run_schedule(
        comm,
        schedule,
        stages,
        inputs,
        lambda stage, number: (*inputs[number].shape, config.width),
        lambda logits, number: next_token_loss(logits, targets[number]) * len(targets[number]) / BATCH,
    )
    if config.tied:
        sum_tied_gradients(comm, schedule, stages)
    gradients = {stage: {n: p.grad for n, p in part.named_parameters()} for stage, part in stages.items()}
    return gradients, sum(rank.losses.values())


def expected(config):
    gpt = GPT(config).double()
    loss = next_token_loss(gpt(TOKENS), TARGETS)
    loss.backward()
    return gpt, loss.item()


def check(schedule, config, results):
    gpt, loss = expected(config)
    assert sum(share for _, share in results) == pytest.approx(loss, abs=1e-12)
    whole = {name: parameter.grad for name, parameter in gpt.named_parameters()} | {
        "output.weight": gpt.output.weight.grad
    }
    for gradients, _ in results:
        for stage, parts in gradients.items():
            first = stage * config.layers // schedule.stages
            for name, gradient in parts.items():
                if name.startswith("blocks."):
                    _, number, rest = name.split(".", 2)
                    name = f"blocks.{first + int(number)}.{rest}"
                torch.testing.assert_close(gradient, whole[name], rtol=1e-10, atol=1e-12)


GRID = [("1F1B", 1), ("1F1B", 2), ("GPipe", 4), ("interleaved", 1), ("interleaved", 2), ("ZB-H1", 3)]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("name", "world_size"), GRID)
def test_stages_have_the_loss_and_the_gradients_of_the_whole(name, world_size, tied):
    config = GPTConfig(vocabulary=11, context=6, layers=4, width=8, heads=2, tied=tied)
    schedule = SCHEDULES[name](world_size, 4)  # 7 sequences: no equal parts
    check(schedule, config, simulate(one_step, world_size, args=(schedule, config)).results)


def test_real_processes_sum_a_tied_gradient_too():
    schedule = SCHEDULES["1F1B"](2, 3)
    check(schedule, CONFIG, run(one_step, 2, args=(schedule, CONFIG)).results)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_stages_hold_every_parameter_once_but_for_a_tied_embedding(stages):
    held = sum(p.numel() for stage in range(stages) for p in GPTStage(CONFIG, stage, stages).parameters())
    assert held == CONFIG.parameters + (stages > 1) * CONFIG.vocabulary * CONFIG.width


def test_a_stage_without_a_block_is_refused():
    with pytest.raises(ValueError, match="every stage must have a block, got 5 stages for 4 blocks"):
        GPTStage(CONFIG, 0, 5)


def test_a_stage_that_is_not_there_and_a_gradient_that_is_not_there_yet_are_refused():
    with pytest.raises(ValueError, match="2 stages are 0 to 1, got 2"):
        GPTStage(CONFIG, 2, 2)

    def too_early(comm):
        schedule = SCHEDULES["1F1B"](2, 2)
        sum_tied_gradients(comm, schedule, gpt_stages(CONFIG, schedule, comm.rank))

    with pytest.raises(Exception, match=r"rank \d has no gradient of a tied embedding yet"):
        simulate(too_early, 2)
