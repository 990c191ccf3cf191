"""Data parallelism: every rank trains the whole model on its part of each batch."""

from course_lib.data_parallel.averaging import average_gradients, average_gradients_in_buckets, batch_share
from course_lib.data_parallel.balance import BalancedStep, shares_by_speed, slowest_rank_s, train_balanced
from course_lib.data_parallel.batch_norm import SyncBatchNorm, synchronize_batch_norm
from course_lib.data_parallel.batch_statistics import (
    VARIANCE_WAYS,
    Scatter,
    expected_scatter,
    running_weight,
    statistics_scatter,
    train_with_batch_norm,
    variance_parts,
)
from course_lib.data_parallel.buckets import BUCKET_BYTES, Bucket, bucket_plan
from course_lib.data_parallel.digits_task import accuracy, digits_model, scores
from course_lib.data_parallel.local_sgd import (
    LocalRun,
    average_parameters,
    average_states,
    digit_batches,
    drift,
    train_local_sgd,
)
from course_lib.data_parallel.overlap import DataParallel
from course_lib.data_parallel.recurrent import (
    CharacterModel,
    encode,
    parallel_streams,
    time_split_gradient,
    train_on_streams,
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
from course_lib.data_parallel.step import LayerCost, StepTimeline, Stretch, equal_layers, step_timeline
from course_lib.data_parallel.timed import timed, timed_model, timed_step

__all__ = [
    "accuracy",
    "average_gradients",
    "average_gradients_in_buckets",
    "average_parameters",
    "average_states",
    "BalancedStep",
    "batch_share",
    "broadcast_state",
    "Bucket",
    "BUCKET_BYTES",
    "bucket_plan",
    "CharacterModel",
    "check_agreement",
    "DataParallel",
    "digit_batches",
    "digits_model",
    "DisagreementError",
    "drift",
    "encode",
    "epoch_order",
    "epoch_shards",
    "equal_layers",
    "expected_scatter",
    "global_batches",
    "LayerCost",
    "LocalRun",
    "parallel_streams",
    "part_lengths",
    "running_weight",
    "Scatter",
    "scores",
    "Shard",
    "shares_by_speed",
    "slowest_rank_s",
    "split_batch",
    "state_hash",
    "statistics_scatter",
    "step_timeline",
    "StepTimeline",
    "Stretch",
    "SyncBatchNorm",
    "synchronize_batch_norm",
    "time_split_gradient",
    "timed",
    "timed_model",
    "timed_step",
    "train_balanced",
    "train_local_sgd",
    "train_on_streams",
    "train_with_batch_norm",
    "variance_parts",
    "VARIANCE_WAYS",
    "windows",
]
