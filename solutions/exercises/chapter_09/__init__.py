"""The exercises of chapter 9, tensor decompositions: counts, TT-SVD, a difference, a product, the wire, a bug."""
