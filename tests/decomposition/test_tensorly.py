"""tensorly's decompositions beside ours: the same errors at the same ranks."""

import pytest
import tensorly.decomposition
import torch

from course_lib.decomposition import function_on_grid, hosvd, load_photo, tensorize, tt_svd

TENSORS = {
    "noise": torch.randn(5, 6, 7, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
    "photo": tensorize(load_photo(64), [4] * 3, [4] * 3),
    "function": function_on_grid(lambda total: 1 / (1 + total), [6] * 4),
}


@pytest.fixture(autouse=True)
def _on_torch():
    before = tensorly.get_backend()
    tensorly.set_backend("pytorch")
    yield
    tensorly.set_backend(before)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("relative_error", [0.01, 0.1, 0.5])
def test_trains_of_the_same_ranks_have_the_same_error(name, relative_error):
    tensor = TENSORS[name]
    ours = tt_svd(tensor, relative_error)
    theirs = tensorly.decomposition.tensor_train(tensor, list(ours.ranks))
    assert [tuple(core.shape) for core in theirs.factors] == [tuple(core.shape) for core in ours.cores]
    assert torch.allclose(ours.full(), theirs.to_tensor(), atol=1e-10)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("largest_rank", [2, 4])
def test_tucker_of_the_same_ranks_has_the_same_error_and_turns_of_als_gain_little(name, largest_rank):
    tensor = TENSORS[name]
    ours = hosvd(tensor, largest_rank=largest_rank)
    error = float((tensor - ours.full()).norm())
    same, refined = (
        float((tensor - tensorly.decomposition.tucker(tensor, list(ours.ranks), n_iter_max=turns).to_tensor()).norm())
        for turns in (0, 100)
    )
    assert same == pytest.approx(error, rel=1e-9)
    assert error / 2 <= refined <= error * (1 + 1e-9)  # HOSVD is at most √d = 2 times from the best
