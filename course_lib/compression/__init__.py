"""Compressed gradients: fewer numbers, fewer bits, thinner matrices; and what is left out is sent later.

In the order of the pages: what a compressor is, and error feedback around it, gathered or summed in parts; top-k; one
bit; PowerSGD; pruning. Each is an `all_reduce` for `DataParallel`, and, by `ddp_hook`, for PyTorch's DDP. Last, two
that are an optimizer, too: 1-bit Adam, and, to send less often, DiLoCo's outer step.
"""

from course_lib.compression.compressed_sums import CompressedSums, ddp_hook
from course_lib.compression.compressors import (
    CompressedAllReduce,
    Compressor,
    OneBit,
    TopK,
    pack,
    pack_bits,
    unpack,
    unpack_bits,
)
from course_lib.compression.one_bit_adam import OneBitAdam
from course_lib.compression.outer_step import OuterStep
from course_lib.compression.power_sgd import PowerSGD, as_matrix, gradients_in, power_sgd_bytes
from course_lib.compression.pruning import MaskedAllReduce, magnitude_masks, prune_neurons
