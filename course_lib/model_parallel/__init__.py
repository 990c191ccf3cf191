"""Model parallelism: one layer on several ranks, each owning a part of its parameters.

In the order of the page: a fully connected layer split in three ways and what crosses for each; the two ways to update
its weights; matrix products on a grid of ranks; convolutions by channels and by regions; and a choice for each layer.
"""

from course_lib.model_parallel.halo import (
    RegionConv2d,
    RowKernel,
    Rows,
    Transfer,
    collect_rows,
    halo_plan,
    needed_rows,
    owned_rows,
    return_rows,
)
from course_lib.model_parallel.hybrid_network import (
    HybridNetwork,
    HybridPlan,
    choose_splits,
    layer_elements,
    plan_bytes,
)
from course_lib.model_parallel.layers import ALEXNET, VGG16, ConvShape, LinearShape
from course_lib.model_parallel.layouts import gather, own_part, part_lengths, part_starts, scatter_sum
from course_lib.model_parallel.matrix_products import (
    Grid,
    Operations,
    SummaPanel,
    cannon_elements_sent,
    cannon_product,
    classical_operations,
    layered_elements_sent,
    layered_product,
    min_elements_moved,
    panels,
    strassen_operations,
    strassen_product,
    summa_elements_received,
    summa_elements_sent,
    summa_product,
)
from course_lib.model_parallel.split_bytes import (
    CONV_SPLITS,
    LINEAR_SPLITS,
    Traffic,
    border_batch,
    conv_traffic,
    linear_traffic,
)
from course_lib.model_parallel.split_layers import (
    ExampleSplitLinear,
    InputChannelConv2d,
    InputSplitLinear,
    OutputChannelConv2d,
    OutputSplitLinear,
)
from course_lib.model_parallel.weight_update import WAYS, NeuronLayer, train_neurons, training_seconds
