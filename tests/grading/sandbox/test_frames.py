"""Frames: every value travels unchanged, nothing else gets in."""

import pickle
import struct
from array import array
from collections import OrderedDict, deque

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading.sandbox import frames
from course_lib.grading.sandbox.frames import Frame, FrameError, Other, Payload
from course_lib.grading.sandbox.tensors import raw_bytes, snapshot
from course_lib.grading.verdict import as_number_or_tensor

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=20)
)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=10))
def test_a_value_comes_out_as_it_went_in(value):
    assert frames.decode(frames.encode([[value]] if isinstance(value, list) else value)) == (
        [[value]] if isinstance(value, list) else value
    )


@pytest.mark.parametrize("dtype", frames.DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3)])
def test_a_tensor_of_any_dtype_and_shape_comes_out_equal(dtype, shape):
    tensor = (torch.rand(shape) * 9).to(dtype)
    came = frames.decode(frames.encode(tensor))
    assert came.nbytes == tensor.nbytes
    assert (came.tensor().dtype, came.tensor().shape) == (dtype, tensor.shape)
    assert raw_bytes(came.tensor()) == raw_bytes(tensor)


def test_every_dtype_that_holds_numbers_travels_and_another_is_named():
    dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    left = sorted(str(dtype) for dtype in dtypes.difference(frames.DTYPES))
    packed = ("torch.bits", "torch.int", "torch.uint", "torch.qint", "torch.quint", "torch.float4", "torch.complex32")
    assert [name for name in left if not name.startswith(packed)] == []
    with pytest.raises(TypeError, match=r"a tensor of torch\.bits8 cannot travel"):
        frames.encode(torch.empty(2, dtype=torch.bits8))


def test_a_view_with_gaps_travels_as_its_values():
    tensor = torch.arange(12.0).reshape(3, 4)[:, ::2]
    assert torch.equal(frames.decode(frames.encode(tensor)).tensor(), tensor)


@pytest.mark.parametrize("array", [np.array(1.5), np.arange(6.0).reshape(2, 3)[:, ::-1], np.zeros((2, 0))])
def test_an_array_keeps_its_shape_also_one_without_dimensions(array):
    assert np.array_equal(frames.decode(frames.encode(array)).tensor().numpy(), array)


OTHER_NUMBERS = [">i4", ">f8", "longdouble", "uint64", "float16", "bool"]
IN_ORDER = [deque([1, 0]), array("d", [1, 0]), memoryview(b"\1\0"), {"a": 1, "b": 0}.values()]
IN_ORDER += [OrderedDict({1: 0, 0: 1}).keys()]


@pytest.mark.parametrize("dtype", OTHER_NUMBERS)
@pytest.mark.parametrize("seen_by", [lambda value: frames.decode(frames.encode(value)), snapshot])
def test_numpys_numbers_are_numbers_to_judge_and_check_whatever_their_kind(dtype, seen_by):
    values = np.array([1, 0], dtype)
    assert seen_by([values[0], values[1]]) == [1, 0]
    came = seen_by(values)
    came = as_number_or_tensor(came.tensor() if isinstance(came, Payload) else came)
    assert came.double().tolist() == [1, 0]


@pytest.mark.parametrize("value", IN_ORDER, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("seen_by", [lambda value: frames.decode(frames.encode(value)), snapshot])
def test_what_holds_values_in_an_order_is_a_list_to_judge_and_check(value, seen_by):
    assert seen_by([value]) == [[1, 0]]


def test_a_view_of_one_element_travels_whatever_its_stride():
    tensor = torch.arange(5)[4::3]
    assert tensor.stride() == (3,)
    assert torch.equal(frames.decode(frames.encode(tensor)).tensor(), tensor)


def test_what_cannot_travel_becomes_the_name_of_its_type():
    assert frames.decode(frames.encode([{1: 2}, print])) == [Other("dict"), Other("builtin_function_or_method")]


def test_frames_are_split_one_by_one_and_an_incomplete_one_stays():
    stream = bytearray(frames.pack(Frame.COMPUTE, 1.5) + frames.pack(Frame.WAIT, [7, "here"])[:-1])
    assert frames.split(stream) == (Frame.COMPUTE, 1.5)
    left = bytes(stream)
    assert frames.split(stream) is None
    assert stream == left


def _list(count: int, body: bytes = b"") -> bytes:
    return b"L" + struct.pack("<I", count) + body


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "longer than its frame"),
        (b"Q", "unknown tag"),
        (pickle.dumps([1]), "unknown tag"),
        (b"S" + struct.pack("<I", 100) + b"short", "longer than its frame"),
        (b"NN", "bytes too many"),
        (_list(2**32 - 1), "longer than its frame"),
        (_list(1) * 1000 + b"N", "lists more than"),
        (_list(60_000, b"N" * 60_000), "values"),
        (b"T\xff\1" + bytes(8), "unknown dtype"),
        (b"T\0\xff" + bytes(8), "too many dimensions"),
        (b"T\0\1" + struct.pack("<q", -1), "impossible shape"),
        (b"T\0\2" + struct.pack("<qq", 2**24, 2**24), "longer than its frame"),
    ],
)
def test_what_is_no_value_is_refused(body, words):
    with pytest.raises(FrameError, match=words):
        frames.decode(body)


def test_a_frame_that_says_it_is_huge_is_refused_before_it_has_come():
    with pytest.raises(FrameError, match="the most is"):
        frames.split(bytearray(struct.pack("<BI", Frame.SEND, 2**32 - 1)))


def test_the_judge_allocates_nothing_for_a_payload_that_is_not_there():
    assert Payload(torch.float32, (2**40,), None).nbytes == 2**42
