"""Limits of scaling: what a step costs on many devices, from parts that earlier chapters measured.

In the order of the page: a workload, a device, a step of both on a network; speed-up with a fixed and with a growing
batch, and the two laws that fall out of it; what others measured.
"""

from course_lib.scaling.curves import ScalingPoint, amdahl, crossover_ranks, gustafson, strong_scaling, weak_scaling
from course_lib.scaling.published_systems import (
    HOROVOD_512,
    K80_EXAMPLES_PER_S,
    KEUPER_ALEXNET,
    LINE_SHARE,
    NANOGPT_A100_EXAMPLES_PER_S,
    NANOGPT_BATCH,
    P100_EXAMPLES_PER_S,
    SYSTEMS,
    TENSORFLOW_K80_CLUSTER,
    KeuperDevice,
    System,
)
from course_lib.scaling.setup import (
    WORKLOADS,
    Device,
    LayerWork,
    Setup,
    Workload,
    even_workload,
    fit_device,
    resnet_shapes,
    workload_of,
)
