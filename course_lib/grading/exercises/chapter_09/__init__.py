"""The exercises of chapter 9, tensor decompositions: counts, TT-SVD, a difference, a product, the wire, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_numbers_stored",
    "b_element",
    "c_tt_svd",
    "d_subtract",
    "e_product",
    "f_average_cores",
    "g_mended_matrix",
)
