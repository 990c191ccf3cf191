"""What a GPU holds, sends and computes by each cut: by hand, against our own GPT on ranks, and Megatron's counts."""

import pytest
import torch

from course_lib import simulate
from course_lib import tensor_parallel as ours
from course_lib.tasks import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=264, context=48, layers=2, width=48, heads=12)
SMALL = ours.CutStep(CONFIG.layers, CONFIG.width, CONFIG.vocabulary, CONFIG.context, 2)


def held_gb(**settings):
    return [round(each / 1e9, 1) for each in ours.CutStep(**settings).held_bytes.values()]


def test_the_case_of_the_page():
    rows = [held_gb(cut=cut) for cut in ours.CUTS]
    assert rows == [
        [133.1, 61.6, 1.7],
        [57.0, 36.2, 1.7],
        [18.9, 23.6, 1.7],
        [16.7, 23.6, 0.2],
        [16.7, 14.0, 0.2],
        [16.7, 7.7, 0.2],
    ]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 12])
def test_a_rank_of_our_gpt_holds_as_many_parameters(ranks):
    def count(comm):
        return sum(each.numel() for each in ours.ParallelGPT(comm, GPT(CONFIG)).parameters())

    assert simulate(count, ranks).results == [SMALL._replace(ranks=ranks, cut="vocabulary").parameters] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("cut", ["heads", "sequence"])
def test_a_block_of_ours_keeps_as_many_activations(ranks, cut):
    """Ours has numbers of one size and no dropout; it keeps norms' statistics and a sum for each head besides."""

    def count(comm):
        places = CONFIG.context // ranks if cut == "sequence" else CONFIG.context
        x = torch.ones(2, places, CONFIG.width, requires_grad=True)
        return ours.kept_numbers(ours.ParallelBlock(comm, GPT(CONFIG).blocks[0], cut == "sequence"), x)

    step = SMALL._replace(ranks=ranks, cut=cut, layers=1)
    masks = 2 * step.tokens * step.hidden / step.over("sequence")
    others = step.tokens * (4 / step.over("sequence") + CONFIG.heads / ranks)
    assert simulate(count, ranks).results[0] == (step.held_bytes["activations"] - masks) / 2 + others


@pytest.mark.parametrize("model", ours.MEGATRON_WEAK_SCALING)
def test_bytes_and_operations_are_megatrons(model):
    step = ours.CutStep(model.layers, model.hidden, ranks=model.gpus, cut="vocabulary")
    assert step.sent_bytes == pytest.approx(ours.all_reduce_bytes(model))
    assert step.flops == pytest.approx(ours.step_flops(model) / model.gpus)


def test_gathering_again_sends_a_quarter_more_and_a_cut_sequence_no_more():
    sent = {cut: ours.CutStep(cut=cut).sent_bytes for cut in ours.CUTS}
    assert sent["nothing"] == 0
    assert sent["heads"] == sent["vocabulary"] == sent["sequence"] == 2 * sent["MLPs"]
    assert sent["gathered again"] == 1.25 * sent["sequence"]


@pytest.mark.parametrize("cut", ours.CUTS)
def test_on_one_rank_every_cut_is_none(cut):
    one = ours.CutStep(ranks=1, cut=cut)
    assert one.held_bytes == ours.CutStep().held_bytes
    assert one.sent_bytes == 0
    assert one.flops == ours.CutStep().flops
