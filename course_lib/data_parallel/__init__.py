"""Data parallelism: every rank trains the whole model on its part of each batch."""

from course_lib.data_parallel.averaging import average_gradients, average_gradients_in_buckets, batch_share
from course_lib.data_parallel.buckets import BUCKET_BYTES, Bucket, bucket_plan
from course_lib.data_parallel.overlap import DataParallel
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
from course_lib.data_parallel.timed import timed, timed_model, timed_step

__all__ = [
    "average_gradients",
    "average_gradients_in_buckets",
    "batch_share",
    "broadcast_state",
    "Bucket",
    "BUCKET_BYTES",
    "bucket_plan",
    "check_agreement",
    "DataParallel",
    "DisagreementError",
    "epoch_order",
    "epoch_shards",
    "equal_layers",
    "global_batches",
    "LayerCost",
    "part_lengths",
    "Shard",
    "split_batch",
    "state_hash",
    "step_timeline",
    "StepTimeline",
    "Stretch",
    "timed",
    "timed_model",
    "timed_step",
]
