"""Data parallelism: every rank trains the whole model on its part of each batch.

Names are in the order of the page. `zero` shards what each rank holds, `other_ways` (local SGD, gossip, stragglers,
recurrent networks) share the work differently, and `experiments` are what only the page runs.
"""

from course_lib.data_parallel.averaging import (
    BUCKET_BYTES,
    Bucket,
    average_gradients,
    average_gradients_in_buckets,
    batch_share,
    bucket_plan,
)
from course_lib.data_parallel.batch_norm import SyncBatchNorm, synchronize_batch_norm
from course_lib.data_parallel.batch_size import (
    SCALINGS,
    WARM_UPS,
    GradientNoise,
    RateSchedule,
    example_gradients,
    gradient_noise,
    scaled_rate,
    updates_per_epoch,
)
from course_lib.data_parallel.other_ways import (
    CharacterModel,
    SharedRow,
    average_parameters,
    drift,
    expected_step_s,
    gossip_factor,
    gossip_round,
    keep_averaging,
    parallel_streams,
    part_batches,
    random_seconds,
    rounds_to_agree,
    slowest_rank_s,
    time_split_gradient,
    train_balanced,
    train_local_sgd,
    train_on_streams,
    train_redundantly,
    train_with_gossip,
    windows,
)
from course_lib.data_parallel.sharding import (
    Shard,
    epoch_order,
    epoch_shards,
    global_batches,
    part_lengths,
    split_batch,
)
from course_lib.data_parallel.state import DisagreementError, broadcast_state, check_agreement, state_hash
from course_lib.data_parallel.step import (
    Interval,
    LayerCost,
    StepTimeline,
    equal_layers,
    sharded_step_seconds,
    step_timeline,
)
from course_lib.data_parallel.wrapper import DataParallel, OverlappedAverage
