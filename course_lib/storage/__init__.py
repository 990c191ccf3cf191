"""Input and output: samples in files and in shards, in random order, once an epoch, in time.

In the order of the page: real images as samples, as small files and as shards, and how fast they are read; shuffling
what is read in order; any sample by an index; who reads what; loading ahead; caches; what many machines ask of one
storage; tokens by a memory map; what others measured.
"""

from course_lib.storage.caches import (
    Cache,
    KeepFirst,
    LeastRecentlyUsed,
    count_misses,
    epochs_of,
    lru_miss_rate_permuted,
)
from course_lib.storage.central_storage import LIMITS, CentralStorage, InputSetup, gpus_busy, samples_per_s
from course_lib.storage.prefetch import Prefetcher, overlapped_seconds
from course_lib.storage.published import (
    FFCV_RATES,
    FILE_SYSTEMS,
    MLPERF_STORAGE,
    NVME_SCAN,
)
from course_lib.storage.reading import (
    Flow,
    ReadTiming,
    behind_latency,
    files_per_s,
    flow_of,
    forget,
    needed_in_flight,
    read_with_workers,
    time_samples,
)
from course_lib.storage.samples import Sample, digit_samples, photo_samples, pixels, read_file, write_files
from course_lib.storage.sampling import (
    EpochCount,
    ShardPart,
    buffer_displacement,
    buffered_shuffle,
    count_epoch,
    epoch_order,
    mean_displacement,
    rank_steps,
    same_shard_share,
    split_samples,
    split_shards,
    step_batches,
)
from course_lib.storage.shards import (
    IndexedShards,
    TornShard,
    pack_shard,
    read_shard,
    shard_bytes,
    unpack_shard,
    write_indexed,
    write_shards,
)
from course_lib.storage.tokens import TokenWindows, pages_in_memory, pages_of_windows, write_tokens
