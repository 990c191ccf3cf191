"""Programs on their way to ranks."""

import linecache
import random

import numpy as np
import pytest
import torch

from course_lib import TransportError, run, simulate
from course_lib.comm.program import check_world_size, fixed_seeds, has_meta_tensor, notebook_lines, pack, unpack
from course_lib.grading.rehearsal.cases import unpack_own


def test_every_unpacking_is_a_copy_of_its_own():
    shared = [1]

    def program(item):
        shared.append(item)
        return shared

    packed = pack(program, ([0],), {"key": [0]})
    (first, first_args, _), (second, second_args, kwargs) = unpack(packed), unpack(packed)
    assert (first(2), second(3), shared) == ([1, 2], [1, 3], [1])
    first_args[0].append(5)
    assert (second_args, kwargs) == (([0],), {"key": [0]})


def test_tensors_that_need_gradients_travel_as_leaves():
    _, (tensor,), _ = unpack(pack(print, (torch.ones(2, requires_grad=True),), None))
    assert (tensor.requires_grad, tensor.is_leaf, tensor.tolist()) == (True, True, [1.0, 1.0])


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64])
def test_tensors_of_every_dtype_travel_there_and_back(dtype):
    def program(comm, given):
        return {"given": given.reshape(3, 2), "none": given[:0], "one": given[0, 0]}

    given = torch.arange(6.0).reshape(2, 3).to(dtype).T
    for execute in (simulate, run):
        (got,) = execute(program, 1, args=(given,)).results
        assert (got["given"].dtype, got["given"].tolist()) == (dtype, given.reshape(3, 2).tolist())
        assert ([*got["none"].shape], got["one"].shape) == ([0, 2], ())


def test_what_cannot_travel_is_named_with_advice():
    with pytest.raises(
        TransportError, match=r"(?s)print cannot travel to the ranks: TypeError: .*generator.*make them inside"
    ):
        pack(print, ((n for n in range(3)),), None)


@pytest.mark.parametrize("world_size", [1, 2, 10_000])
def test_whole_numbers_of_ranks_are_fine(world_size):
    check_world_size(world_size)


def test_meta_tensors_are_found_among_arguments_of_both_kinds():
    meta = torch.empty(1, device="meta")
    assert has_meta_tensor((1, meta), None)
    assert has_meta_tensor((), {"x": meta})
    assert not has_meta_tensor((torch.ones(1),), {"x": "meta"})


def test_random_numbers_begin_again_inside_and_go_on_outside():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    draw()
    with fixed_seeds():
        inside = draw()
    after = draw()
    with fixed_seeds():
        assert draw() == inside
    assert draw() not in (inside, after)


def test_the_lines_of_cells_travel_and_those_of_files_do_not(monkeypatch):
    monkeypatch.setitem(linecache.cache, "/tmp/ipykernel_5/1.py", (5, None, ["a\n"], "/tmp/ipykernel_5/1.py"))
    monkeypatch.setitem(linecache.cache, "/home/me/file.py", (5, None, ["b\n"], "/home/me/file.py"))
    lines = notebook_lines()
    assert "/tmp/ipykernel_5/1.py" in lines
    assert "/home/me/file.py" not in lines


@pytest.mark.parametrize("above", ["torch.autograd.function.once_differentiable", "torch.no_grad()"])
def test_a_librarys_decorator_above_a_notebooks_method_keeps_the_librarys_names(above):
    source = f"""
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return 2 * x
    @staticmethod
    @{above}
    def backward(ctx, gradient): return 2 * gradient
def slope():
    x = torch.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    return x.grad.tolist()
"""
    names = {"__name__": "__main__", "torch": torch}
    exec(source, names)
    for unpacked in (unpack, unpack_own):
        assert unpacked(pack(names["slope"], (), None))[0]() == [2, 2]
