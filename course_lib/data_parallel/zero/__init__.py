"""ZeRO: optimizer states, gradients and parameters, each sharded over the ranks instead of held by all."""

from course_lib.data_parallel.zero.fetched_ahead import FetchedAhead
from course_lib.data_parallel.zero.memory import (
    FP32_ADAM,
    FP32_MOMENTUM,
    MIXED_ADAM,
    Held,
    elements_held,
    memory_moments,
    zero_bytes,
    zero_elements_sent,
    zero_parts,
)
from course_lib.data_parallel.zero.optimizer import ShardedOptimizer
from course_lib.data_parallel.zero.stages import ZERO_STAGES, ShardedGradients, ShardedParameters
