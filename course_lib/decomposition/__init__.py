"""Tensor decompositions: large tensors as products of small ones, and layers that are stored and trained that way.

In the order of the page: the truncated SVD; Tucker; the tensor train, its error law, and arithmetic on it; what each of
them stores; matrices as tensor trains, and the layer that is one; LoRA, beside a weight of 4 bits, too; TT-cross; and
what all of it takes, counted.
"""

from course_lib.decomposition.arithmetic import (
    orthogonalize,
    tt_add,
    tt_inner,
    tt_inner_flops,
    tt_multiply,
    tt_multiply_flops,
    tt_norm,
    tt_round,
    tt_round_flops,
    tt_scale,
)
from course_lib.decomposition.costs import Counts, count, tt_numbers
from course_lib.decomposition.cross import CrossResult, Function, elements_at, maxvol, random_indices, tt_cross
from course_lib.decomposition.examples import function_on_grid, load_photo, train_digits_weight
from course_lib.decomposition.lora import FourBitLinear, LoRALinear
from course_lib.decomposition.svd import SVD, kept_rank, left_factor, left_factor_flops, truncated_svd
from course_lib.decomposition.tensor_train import (
    TensorTrain,
    error_of_a_cut,
    tt_element_flops,
    tt_full_flops,
    tt_ranks,
    tt_svd,
    tt_svd_flops,
)
from course_lib.decomposition.tt_linear import TTLinear
from course_lib.decomposition.tt_matrix import (
    TTMatrix,
    tensorize,
    tt_matrix_numbers,
    tt_matrix_svd,
    tt_product,
    tt_product_flops,
    tt_product_states,
)
from course_lib.decomposition.tucker import Tucker, hosvd, mode_errors, mode_product, mode_unfolding, tucker_numbers
from course_lib.flops import qr_flops, svd_flops, triangle_flops
