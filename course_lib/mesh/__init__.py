"""Three dimensions at once: data, pipeline and tensor parallelism on one mesh of ranks.

In the order of the page: coordinates and groups; a rank's part of the model; training on all of them; the norm of a
gradient in parts; a checkpoint for any mesh; shards near, copies far; bytes by dimension; memory of a device, time of a
step; what others measured; a planner.
"""

from course_lib.comm.processes.fork_server import preload as _preload
from course_lib.mesh.checkpoint import load_on_mesh, numbers_of, save_on_mesh
from course_lib.mesh.clipping import clip_gradients, counted_gradients, counts_here, gradient_norm
from course_lib.mesh.coordinates import DIMENSIONS, Coordinates, CoordinatesOfFour, Mesh, MeshRank
from course_lib.mesh.hybrid import hybrid_step, near_and_far
from course_lib.mesh.memory import (
    device_memory,
    device_parameters,
    gathered_bytes,
    layer_activation_bytes,
    micro_batches_held,
)
from course_lib.mesh.plan import A100_CLUSTER, H100_CLUSTER, RECOMPUTE, Cluster, Plan, TransformerShape
from course_lib.mesh.planner import (
    SPARE,
    STEP_PARTS,
    RankedPlan,
    StepTime,
    achieved_flops_per_s,
    all_plans,
    best_plans,
    exchange_s,
    fit_matrix_efficiency,
    ring_s,
    step_time,
)
from course_lib.mesh.published import (
    KORTHIKANTI_2022,
    LLAMA3_2024,
    MIXTRAL_2024,
    MOSAIC_2023,
    NARAYANAN_2021,
    TORCHTITAN_2024,
    FsdpRow,
    KorthikantiRow,
    TitanRow,
    TrainingRow,
)
from course_lib.mesh.stage import MeshChunks, MeshStage, gradients_as_model, largest_difference
from course_lib.mesh.training import (
    MeshResult,
    MeshTraining,
    backward_on_mesh,
    optimizer_of,
    part_of,
    train_on_mesh,
    train_on_one_process,
    update_on_mesh,
)
from course_lib.mesh.wire_bytes import (
    StepSizes,
    context_bytes,
    data_bytes,
    dimension_bytes,
    node_bytes,
    pipeline_bytes,
    step_bytes,
    tensor_bytes,
)

_preload("course_lib.mesh.experiments")  # the page starts a hundred processes, and each would import it
