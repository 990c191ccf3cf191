"""Tensor decompositions: large tensors as products of small ones, and layers that are stored and trained that way.

In the order of the page: the truncated SVD; the tensor train and its error law.
"""

from course_lib.decomposition.svd import SVD, kept_rank, truncated_svd
from course_lib.decomposition.tensor_train import TensorTrain, tt_ranks, tt_svd

__all__ = [
    "SVD",
    "kept_rank",
    "truncated_svd",
    "TensorTrain",
    "tt_svd",
    "tt_ranks",
]
