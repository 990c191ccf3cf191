"""Tensor parallelism: a whole transformer of which every rank holds a part of every block.

In the order of the page: the conjugate operators; linear layers, attention by heads, the vocabulary and its loss; the
whole GPT, with the sequence cut as well; what a GPU holds by each cut; products beside a ring's steps; random numbers;
Megatron's and torchtitan's counts; attention over a cut sequence; experts.
"""

from course_lib.tensor_parallel.dropout import RandomOfRank, random_of_rank
from course_lib.tensor_parallel.experts import ExpertParallel, Routing, capacity_of, mixture_on_one_process, route
from course_lib.tensor_parallel.operators import (
    copy_to_ranks,
    exchange_parts,
    gather_sequence,
    own_sequence,
    scatter_sequence,
    sum_over_ranks,
)
from course_lib.tensor_parallel.overlap import gather_product, overlapped_seconds, product_scatter
from course_lib.tensor_parallel.parallel_gpt import (
    ColumnParallelLinear,
    ParallelAttention,
    ParallelBlock,
    ParallelGPT,
    RowParallelLinear,
    VocabularyParallelEmbedding,
    is_shared,
    part_of,
    rows_of_heads,
    vocabulary_parallel_loss,
)
from course_lib.tensor_parallel.split_sequence import (
    OnlineSoftmax,
    exchanged_attention,
    pairs_per_step,
    places_in_order,
    places_in_zigzag,
    ring_attention,
)
from course_lib.tensor_parallel.step_costs import (
    CUTS,
    MEGATRON_WEAK_SCALING,
    TORCHTITAN_ASYNC,
    AsyncRow,
    CutStep,
    MegatronModel,
    all_reduce_bytes,
    communication_share,
    exposed_share,
    gpt_parameters,
    kept_numbers,
    max_speed_up,
    product_over_message,
    speed_up_by_chunks,
    step_flops,
)
