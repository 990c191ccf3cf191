"""In operators or as one: the same numbers; and a plain word where nothing can be compiled."""

import pytest
import torch

from course_lib.precision import (
    compiled,
    count_work,
    gelu_as_one,
    gelu_in_place,
    gelu_of_operators,
    why_not_compiled,
)

X = torch.linspace(-6, 6, 1001)


def test_nine_operators_make_what_one_kernel_makes():
    torch.testing.assert_close(gelu_of_operators(X), gelu_as_one(X), rtol=1e-5, atol=1e-6)


def test_nine_operators_in_place_move_the_same_bytes_to_the_same_numbers():
    inner, result = torch.empty_like(X), torch.empty_like(X)
    before = X.clone()
    assert gelu_in_place(X, inner, result) is result
    torch.testing.assert_close(result, gelu_of_operators(X), rtol=1e-6, atol=1e-7)
    assert torch.equal(X, before)
    assert count_work(gelu_in_place, X, inner, result) == count_work(gelu_of_operators, X)
    assert count_work(gelu_of_operators, X).memory_bytes == 22 * X.nbytes


def test_without_a_compiler_the_reason_is_said(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no no-such-compiler here" in why_not_compiled()
    with pytest.raises(RuntimeError, match="needs a C\\+\\+ compiler"):
        compiled(gelu_of_operators)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # in PyTorch
@pytest.mark.skipif(bool(why_not_compiled()), reason=why_not_compiled() or "a compiler is there")
def test_what_is_compiled_makes_the_same():
    torch.testing.assert_close(compiled(gelu_of_operators)(X), gelu_as_one(X), rtol=1e-5, atol=1e-6)
