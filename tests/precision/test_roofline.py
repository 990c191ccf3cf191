"""The roof by its formula, work by hand and by PyTorch's own counter; what is measured is only positive."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from course_lib.decomposition import count
from course_lib.precision import (
    KernelWork,
    Roofline,
    count_work,
    fastest_in_turns,
    fastest_s,
    gelu_as_one,
    gelu_of_operators,
    measure_roofline,
)
from course_lib.tasks import GPT, GPTConfig

ROOF = Roofline(flops_per_s=312e12, bytes_per_s=2039e9)  # fp16 on an A100 with 80 GB, by its data sheet


def test_the_roof_rises_to_the_ridge_and_is_flat_from_there():
    assert ROOF.ridge == pytest.approx(153.0, abs=0.05)
    assert ROOF.attainable_flops_per_s(ROOF.ridge) == pytest.approx(312e12)
    assert ROOF.attainable_flops_per_s(2 * ROOF.ridge) == 312e12
    assert ROOF.attainable_flops_per_s(ROOF.ridge / 2) == pytest.approx(156e12)


def test_a_gelu_of_operators_passes_over_memory_22_times_and_the_kernel_twice():
    x = torch.ones(1000)
    # x·x, ·x, x+, 0.5x·(1+…): read two and write one; four others and the tanh: read one and write one.
    assert count_work(gelu_of_operators, x) == KernelWork(flops=9 * 1000, memory_bytes=(4 * 3 + 5 * 2) * 4000)
    assert count_work(gelu_as_one, x) == KernelWork(flops=1000, memory_bytes=2 * 4000)


def test_views_move_nothing_and_an_output_that_is_given_is_written_once():
    x = torch.ones(6, 4)
    assert count_work(lambda: x.T[1:].reshape(-1, 2)) == KernelWork(0, 2 * 18 * 4)  # a reshape that had to copy
    assert count_work(lambda: x.view(4, 6).T) == KernelWork(0, 0)
    assert count_work(lambda: torch.add(x, x, alpha=3, out=torch.empty_like(x))).memory_bytes == 3 * x.nbytes
    assert count_work(lambda: x.add_(1)).memory_bytes == 2 * x.nbytes


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (torch.mm, [(3, 5), (5, 7)]),
        (torch.bmm, [(2, 3, 5), (2, 5, 7)]),
        (torch.baddbmm, [(2, 3, 7), (2, 3, 5), (2, 5, 7)]),
        (functional.linear, [(3, 5), (7, 5), (7,)]),
        (functional.conv2d, [(1, 2, 8, 8), (4, 2, 3, 3)]),
    ],
)
def test_products_have_the_flops_that_pytorch_counts(function, shapes):
    arguments = [torch.ones(shape) for shape in shapes]
    theirs = FlopCounterMode(display=False)
    with theirs:
        function(*arguments)
    assert count_work(function, *arguments).flops == theirs.get_total_flops()


@pytest.mark.parametrize(("heads", "key_heads"), [(2, 2), (4, 2)])
@pytest.mark.parametrize(("queries", "keys", "width"), [(64, 64, 16), (5, 7, 3)])
def test_attention_has_the_flops_of_its_products_forward_and_backward(heads, key_heads, queries, keys, width):
    q = torch.randn(2, heads, queries, width, requires_grad=True)
    k, v = (torch.randn(2, key_heads, keys, width, requires_grad=True) for _ in range(2))

    def attend():
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=heads != key_heads)

    pairs = 2 * heads * queries * keys
    forward, both = count_work(attend).flops, count_work(lambda: attend().sum().backward()).flops
    for counted, products in ((forward, 2), (both, 2 + 5)):
        assert counted >= 2 * pairs * width * products
        assert counted < 2 * pairs * width * products + 30 * (pairs + q.numel() + k.numel())  # softmax, sums
    assert count(attend).flops >= 2 * pairs * width * 2


@pytest.mark.parametrize(
    ("function", "shapes", "flops"),
    [(torch.mv, [(3, 5), (5,)], 30), (torch.dot, [(5,), (5,)], 10), (torch.addmv, [(3,), (3, 5), (5,)], 30)],
)
def test_products_with_vectors_are_products_for_both_counters(function, shapes, flops):
    arguments = [torch.ones(shape) for shape in shapes]
    assert count_work(function, *arguments).flops == flops
    assert count(function, *arguments).flops == flops


def test_a_lookup_reads_what_it_gives_and_computes_nothing():
    table, places = torch.ones(10_000, 64), torch.tensor([1, 5, 5, 9])
    assert count_work(functional.embedding, places, table) == KernelWork(0, 4 * 8 + 2 * 4 * 64 * 4)
    assert count_work(lambda: table[places]) == KernelWork(0, 4 * 8 + 2 * 4 * 64 * 4)
    table.requires_grad_()
    assert count_work(lambda: functional.embedding(places, table).sum().backward()).flops < 10 * 4 * 64


def test_an_expanded_tensor_is_read_once():
    one = torch.ones(1).expand(1000)
    assert count_work(torch.add, torch.ones(1000), one) == KernelWork(1000, 4000 + 4 + 4000)


def test_a_backward_pass_has_about_twice_the_work_of_the_forward_pass():
    model, tokens = GPT(GPTConfig()), torch.zeros(2, 64, dtype=torch.int64)
    forward = count_work(model, tokens)
    both = count_work(lambda: model(tokens).sum().backward())
    assert 2.5 < both.flops / forward.flops < 3.5


def test_a_product_gains_intensity_with_its_size_and_with_16_bits():
    for n in (6, 60):
        square = torch.zeros(n, n)
        assert count_work(torch.mm, square, square).intensity == pytest.approx(n / 6)
        assert count_work(torch.mm, square.half(), square.half()).intensity == pytest.approx(n / 3)


def test_measuring_gives_a_peak_above_what_memory_brings():
    roof = measure_roofline(size=64, array_bytes=2**16)
    assert roof.flops_per_s > 0
    assert roof.bytes_per_s > 0


def test_the_fastest_call_counts_and_the_first_does_not():
    calls = []
    assert fastest_s(lambda: calls.append(1), repeats=3) >= 0
    assert len(calls) == 4


@pytest.mark.parametrize(("threads", "seconds"), [(1, 1), (2, 5)])
def test_one_thread_counts_only_the_time_in_which_it_runs(monkeypatch, threads, seconds):
    runs, passes = itertools.count(0.0, 1), itertools.count(0.0, 5)
    clocks = SimpleNamespace(thread_time=lambda: next(runs), perf_counter=lambda: next(passes))
    monkeypatch.setattr("course_lib.precision.roofline.time", clocks)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert fastest_s(lambda: None) == seconds


def test_calls_take_turns_and_the_first_round_does_not_count():
    order = ""

    def call(name):
        nonlocal order
        order += name

    seconds = fastest_in_turns({"a": lambda: call("a"), "b": lambda: call("b")}, repeats=2)
    assert order == "ababab"
    assert seconds.keys() == {"a", "b"}
    assert fastest_in_turns({}) == {}
