"""Data parallelism: every rank trains the whole model on its part of each batch.

In the order of the page. ZeRO is a room of its own, `zero`; what only the page measures is in `experiments`.
"""

from course_lib.data_parallel.async_gossip import SharedRow, keep_averaging, train_with_async_gossip
from course_lib.data_parallel.averaging import average_gradients, average_gradients_in_buckets, batch_share
from course_lib.data_parallel.balance import slowest_rank_s, train_balanced
from course_lib.data_parallel.batch_norm import SyncBatchNorm, synchronize_batch_norm
from course_lib.data_parallel.buckets import BUCKET_BYTES, Bucket, bucket_plan
from course_lib.data_parallel.gossip import (
    gossip_factor,
    gossip_round,
    rounds_to_agree,
    train_with_gossip,
)
from course_lib.data_parallel.local_sgd import average_parameters, drift, part_batches, train_local_sgd
from course_lib.data_parallel.noise_scale import GradientNoise, example_gradients, gradient_noise
from course_lib.data_parallel.overlap import OverlappedAverage
from course_lib.data_parallel.rate_schedule import SCALINGS, WARM_UPS, Schedule, scaled_rate, updates_per_epoch
from course_lib.data_parallel.recurrent import (
    CharacterModel,
    parallel_streams,
    time_split_gradient,
    train_on_streams,
    windows,
)
from course_lib.data_parallel.redundancy import expected_step_s, random_seconds, train_redundantly
from course_lib.data_parallel.sharding import (
    Shard,
    epoch_order,
    epoch_shards,
    global_batches,
    part_lengths,
    split_batch,
)
from course_lib.data_parallel.state import DisagreementError, broadcast_state, check_agreement, state_hash
from course_lib.data_parallel.step import LayerCost, StepTimeline, Stretch, equal_layers, step_timeline
from course_lib.data_parallel.wrapper import DataParallel

__all__ = [
    # who trains on what
    "epoch_order",
    "global_batches",
    "part_lengths",
    "split_batch",
    "Shard",
    "epoch_shards",
    # the same start
    "state_hash",
    "broadcast_state",
    "check_agreement",
    "DisagreementError",
    # three ways to average
    "average_gradients",
    "average_gradients_in_buckets",
    "batch_share",
    "BUCKET_BYTES",
    "Bucket",
    "bucket_plan",
    "OverlappedAverage",
    "DataParallel",
    # the time of a step
    "LayerCost",
    "equal_layers",
    "step_timeline",
    "StepTimeline",
    "Stretch",
    # where it is not the same training
    "SyncBatchNorm",
    "synchronize_batch_norm",
    "CharacterModel",
    "parallel_streams",
    "windows",
    "time_split_gradient",
    "train_on_streams",
    # how large the batch may be
    "example_gradients",
    "gradient_noise",
    "GradientNoise",
    "updates_per_epoch",
    "SCALINGS",
    "scaled_rate",
    "WARM_UPS",
    "Schedule",
    # one slow device, and talking less
    "slowest_rank_s",
    "train_balanced",
    "average_parameters",
    "drift",
    "part_batches",
    "train_local_sgd",
    "gossip_round",
    "gossip_factor",
    "rounds_to_agree",
    "train_with_gossip",
    "SharedRow",
    "keep_averaging",
    "train_with_async_gossip",
    "expected_step_s",
    "random_seconds",
    "train_redundantly",
]
