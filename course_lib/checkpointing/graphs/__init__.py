"""Checkpointing on graphs that are no chains: trees, and networks of small width.

In the order of the page: real models and simple shapes as graphs; plans by cuts; how wide a graph is, and plans by
divide and conquer; the optimum by cuts, and the search that it is held against; torch's own partitioner.
"""

from course_lib.checkpointing.graphs.cuts import computed_nodes, cut_plan, with_frees
from course_lib.checkpointing.graphs.decomposition import cut_width, tree_decomposition
from course_lib.checkpointing.graphs.models import DenseNet, ResidualNet, UNet
from course_lib.checkpointing.graphs.optimum import FrontierPlan, graph_frontier, graph_optimum
from course_lib.checkpointing.graphs.partitioner import measure_step, partitioned_step
from course_lib.checkpointing.graphs.search import min_cost
from course_lib.checkpointing.graphs.separators import parts_of, separator_plan
from course_lib.checkpointing.graphs.shapes import SHAPES, chain_shape, residual_shape, tree_shape, unet_shape
from course_lib.checkpointing.graphs.trace import trace_model

__all__ = [
    "ResidualNet",
    "UNet",
    "DenseNet",
    "trace_model",
    "SHAPES",
    "chain_shape",
    "residual_shape",
    "unet_shape",
    "tree_shape",
    "computed_nodes",
    "with_frees",
    "cut_plan",
    "tree_decomposition",
    "cut_width",
    "parts_of",
    "separator_plan",
    "FrontierPlan",
    "graph_frontier",
    "graph_optimum",
    "min_cost",
    "measure_step",
    "partitioned_step",
]
