"""PipeDream: stages that fit the layers, and a pipeline that is never drained.

In the order of the page: a profile of the layers; the partition that a dynamic program finds; what it saves against
data parallelism; asynchronous 1F1B and the versions of weights that it needs; training by it, on digits too; what the
authors measured.
"""

from course_lib.pipeline.pipedream.asynchronous import (
    WEIGHT_RULES,
    AsynchronousSchedule,
    Versions,
    asynchronous_1f1b,
    batches_under_way,
    last_uses,
    peak_versions,
    versions_used,
)
from course_lib.pipeline.pipedream.partition import (
    PAPER_PASSES,
    RING_PASSES,
    RULES,
    V100_FLOPS_PER_S,
    LayerProfile,
    Partition,
    StagePlan,
    Throughput,
    best_partition,
    data_parallel,
    every_partition,
    measure_layers,
    partition_seconds,
    profile_shapes,
    sent_bytes,
    stage_seconds,
    throughput,
)
from course_lib.pipeline.pipedream.published import CLUSTERS, TABLE_1, WORST_SYNCHRONIZATION_SHARE, PublishedSpeedUp
from course_lib.pipeline.pipedream.training import (
    AsynchronousRank,
    DigitsRun,
    SeedsLinear,
    Weights,
    digit_stages,
    train_asynchronously,
    train_digit_stage,
    train_digits,
)
