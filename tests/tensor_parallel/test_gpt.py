"""Tensor parallelism: loss and every gradient are those of one process, and the all-reduces are counted."""

from collections import Counter

import pytest
import torch
from torch import nn

from course_lib import MismatchError, RankError, run, simulate
from course_lib.tasks import GPT, GPTConfig, next_token_loss
from course_lib.tensor_parallel import (
    ColumnParallelLinear,
    ParallelBlock,
    ParallelGPT,
    RowParallelLinear,
    VocabularyParallelEmbedding,
    copy_to_ranks,
    is_shared,
    rows_of_heads,
    sum_over_ranks,
    vocabulary_parallel_loss,
)

CONFIG = GPTConfig(vocabulary=32, context=8, layers=2, width=16, heads=4)
TOKENS, TARGETS = torch.randint(0, 32, (2, 2, 8), generator=torch.Generator().manual_seed(0))


def whole_gpt() -> GPT:
    """Weights large enough that no gradient is all but zero."""
    model = GPT(CONFIG).double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
    return model


def one_step(comm, sequence_parallel):
    model = ParallelGPT(comm, whole_gpt(), sequence_parallel)
    loss = model.loss(TOKENS, TARGETS)
    loss.backward()
    model.sum_shared_gradients()
    held = sum(parameter.numel() for parameter in model.parameters())
    return loss.item(), {name: parameter.grad for name, parameter in model.named_parameters()}, held


def expected() -> tuple[float, dict[str, torch.Tensor]]:
    model = whole_gpt()
    loss = next_token_loss(model(TOKENS), TARGETS)
    loss.backward()
    return loss.item(), {name: parameter.grad for name, parameter in model.named_parameters()}


def joined(name: str, parts: list[torch.Tensor]) -> torch.Tensor:
    if is_shared(name):
        return parts[-1]
    return torch.cat(parts, 1 if name.endswith(("output.weight", "mlp.2.weight")) else 0)


def test_f_copies_forward_and_sums_backward_and_g_the_other_way_round():
    def program(comm):
        x = torch.tensor([10.0**comm.rank], requires_grad=True)
        y = torch.tensor([10.0**comm.rank], requires_grad=True)
        copied, summed = copy_to_ranks(comm, x), sum_over_ranks(comm, y)
        (copied * 10.0**comm.rank).backward()
        (summed * 10.0**comm.rank).backward()
        return copied.item(), x.grad.item(), summed.item(), y.grad.item()

    assert simulate(program, 3).results == [(1, 111, 111, 1), (10, 111, 111, 10), (100, 111, 111, 100)]


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_loss_and_every_gradient_are_those_of_one_process(world_size, sequence_parallel):
    loss, gradients = expected()
    results = simulate(one_step, world_size, args=(sequence_parallel,)).results
    assert [result[0] for result in results] == pytest.approx([loss] * world_size, abs=1e-12)
    for name in results[0][1]:
        whole = joined(name, [result[1][name] for result in results])
        right = rows_of_heads(gradients[name], world_size) if "queries" in name else gradients[name]
        torch.testing.assert_close(whole, right, rtol=0, atol=1e-12)


def test_real_processes_do_the_same():
    loss, _ = expected()
    assert [result[0] for result in run(one_step, 2, args=(False,)).results] == pytest.approx([loss] * 2, abs=1e-12)


@pytest.mark.parametrize("world_size", [2, 4])
def test_a_block_takes_two_all_reduces_forward_and_two_backward(world_size):
    def forward(comm):
        return ParallelBlock(comm, whole_gpt().blocks[0])(torch.ones(2, 8, 16).double())

    def both(comm):
        x = torch.ones(2, 8, 16).double().requires_grad_()
        ParallelBlock(comm, whole_gpt().blocks[0])(x).sum().backward()

    one_all_reduce = 2 * (world_size - 1) * world_size
    chunk_bytes = 2 * 8 * 16 * 8 // world_size  # of b s h numbers of 8 bytes
    for program, all_reduces in ((forward, 2), (both, 4)):
        messages = simulate(program, world_size).trace.messages
        assert Counter(m.message_bytes for m in messages) == {chunk_bytes: all_reduces * one_all_reduce}


def test_sequence_parallelism_moves_as_many_bytes():
    def block(comm, sequence_parallel):
        x = torch.ones(2, 8 // comm.world_size if sequence_parallel else 8, 16).double().requires_grad_()
        ParallelBlock(comm, whole_gpt().blocks[0], sequence_parallel)(x).sum().backward()

    plain, cut = (simulate(block, 4, args=(each,)).trace.bytes_sent for each in (False, True))
    assert plain == cut


def test_a_rank_holds_its_share_of_everything_but_norms_positions_and_late_biases():
    whole = whole_gpt()
    shared = sum(p.numel() for name, p in whole.named_parameters() if is_shared(name))
    every = sum(p.numel() for p in whole.parameters())
    assert simulate(one_step, 4, args=(False,)).results[0][2] == shared + (every - shared) // 4


def test_the_loss_moves_three_numbers_a_token_and_not_the_vocabulary():
    def program(comm):
        return vocabulary_parallel_loss(comm, torch.zeros(2, 8, 16 // comm.world_size), TARGETS % 16)

    report = simulate(program, 2)
    assert [loss.item() for loss in report.results] == pytest.approx([torch.log(torch.tensor(16.0)).item()] * 2)
    assert report.trace.bytes_sent == [3 * 2 * 8 * 4] * 2  # three all-reduces of 16 numbers between two ranks


@pytest.mark.parametrize("shape", [(2, 3), (5,), ()])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_the_loss_is_that_of_all_logits_in_any_shape(world_size, shape):
    logits, tokens = torch.randn(*shape, 6, dtype=torch.float64), torch.randint(6, shape)

    def program(comm):
        return vocabulary_parallel_loss(comm, logits.chunk(comm.world_size, -1)[comm.rank], tokens)

    expected_loss = nn.functional.cross_entropy(logits.reshape(-1, 6), tokens.reshape(-1))
    for loss in simulate(program, world_size).results:
        torch.testing.assert_close(loss, expected_loss)


@pytest.mark.parametrize("execute", [simulate, run])
def test_unequal_parts_of_a_vocabulary_are_refused(execute):
    def program(comm):
        return vocabulary_parallel_loss(comm, torch.zeros(3, 7).tensor_split(2, 1)[comm.rank], torch.arange(3))

    with pytest.raises(MismatchError, match=r"largest of (3|4) logits"):
        execute(program, 2)


@pytest.mark.parametrize("stranger", [-100, -1, 24])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_a_token_that_no_rank_has_is_refused_by_name(world_size, stranger):
    tokens = torch.tensor([[3, stranger, 5]])
    part = 24 // world_size

    def loss(comm):
        vocabulary_parallel_loss(comm, torch.zeros(1, 3, part), tokens)

    def look_up(comm):
        VocabularyParallelEmbedding(comm, nn.Embedding(24, 4))(tokens)

    for program in (loss, look_up):
        with pytest.raises(RankError, match=f"must be from 0 to 23, got {stranger}"):
            simulate(program, world_size)


def test_tensor_parallel_within_data_parallel():
    _, gradients = expected()

    def program(comm):
        rows = comm.group([0, 1] if comm.rank < 2 else [2, 3])  # one copy of the model each
        columns = comm.group([comm.rank % 2, comm.rank % 2 + 2])
        model = ParallelGPT(rows, whole_gpt())
        mine = slice(0, 1) if comm.rank < 2 else slice(1, 2)
        model.loss(TOKENS[mine], TARGETS[mine]).backward()
        for parameter in model.parameters():
            total = sum_over_ranks(columns, parameter.grad) / columns.world_size
            parameter.grad.copy_(total)
        return model.embedding.weight.grad

    results = simulate(program, 4).results
    assert torch.equal(results[0], results[2])
    torch.testing.assert_close(torch.cat(results[:2]), gradients["embedding.weight"], rtol=0, atol=1e-12)


def test_the_wrong_order_of_cuts_is_another_function():
    # By rows first, the non-linearity would act on addends: GELU(a + b) is not GELU(a) + GELU(b).
    up, down = nn.Linear(4, 8), nn.Linear(8, 4)
    x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))

    def program(comm):
        right = RowParallelLinear(comm, down)(ColumnParallelLinear(comm, up)(x).relu())
        addend = x.chunk(2, 2)[comm.rank] @ up.weight.chunk(2, 1)[comm.rank].T + up.bias / 2
        wrong = sum_over_ranks(comm, addend.relu()) @ down.weight.T + down.bias
        return right, wrong

    right, wrong = simulate(program, 2).results[0]
    one_process = down(up(x).relu())
    torch.testing.assert_close(right, one_process)
    assert not torch.allclose(wrong, one_process, atol=1e-3)


def test_what_ranks_do_not_divide_is_refused():
    with pytest.raises(RankError, match="3 ranks must divide the heads, got 4"):
        simulate(lambda comm: ParallelBlock(comm, whole_gpt().blocks[0]), 3)
    with pytest.raises(RankError, match=r"3 ranks must divide \(4, 4\) along dimension 0"):
        simulate(lambda comm: ColumnParallelLinear(comm, nn.Linear(4, 4)), 3)
