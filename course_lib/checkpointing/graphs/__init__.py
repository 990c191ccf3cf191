"""Checkpointing on graphs that are no chains: trees, and networks of small width.

In the order of the page: real models and simple shapes as graphs; plans by cuts; how wide a graph is, and plans by
divide and conquer; the optimum by cuts, and the search that it is held against; torch's own partitioner.
"""

from course_lib.checkpointing.graphs.frontier import (
    FrontierPlan,
    computed_nodes,
    cut_plan,
    graph_frontier,
    graph_optimum,
    min_cost,
    with_frees,
)
from course_lib.checkpointing.graphs.models import (
    SHAPES,
    DenseNet,
    ResidualNet,
    UNet,
    chain_shape,
    residual_shape,
    trace_model,
    tree_shape,
    unet_shape,
)
from course_lib.checkpointing.graphs.partitioner import measure_step, partitioned_step
from course_lib.checkpointing.graphs.separators import cut_width, parts_of, separator_plan, tree_decomposition
