"""Tensor decompositions: large tensors as products of small ones, and layers that are stored and trained that way.

In the order of the page: the truncated SVD; Tucker; the tensor train and its error law; what each of them stores;
TT-cross.
"""

from course_lib.decomposition.cross import CrossResult, Function, elements_at, maxvol, random_indices, tt_cross
from course_lib.decomposition.examples import function_on_grid, load_photo, tensorize, train_digits_weight
from course_lib.decomposition.storage import Storage, best_svd, storage_at_rank, storage_of, tt_numbers
from course_lib.decomposition.svd import SVD, kept_rank, truncated_svd
from course_lib.decomposition.tensor_train import TensorTrain, tt_ranks, tt_svd
from course_lib.decomposition.tucker import Tucker, hosvd, mode_errors, mode_product, mode_unfolding, tucker_numbers

__all__ = [
    "SVD",
    "kept_rank",
    "truncated_svd",
    "Tucker",
    "hosvd",
    "mode_errors",
    "mode_unfolding",
    "mode_product",
    "tucker_numbers",
    "TensorTrain",
    "tt_svd",
    "tt_ranks",
    "tt_numbers",
    "Storage",
    "storage_of",
    "storage_at_rank",
    "best_svd",
    "Function",
    "CrossResult",
    "maxvol",
    "tt_cross",
    "random_indices",
    "elements_at",
    "function_on_grid",
    "load_photo",
    "tensorize",
    "train_digits_weight",
]
