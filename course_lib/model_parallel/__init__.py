"""Model parallelism: one layer on several ranks, each owning a part of its parameters.

In the order of the page: a fully connected layer split in three ways and what crosses for each; the two ways to update
its weights; matrix products on a grid of ranks; convolutions by channels and by regions; and a choice for each layer.
"""

from course_lib.model_parallel.cannon import cannon_elements_sent, cannon_product
from course_lib.model_parallel.channels import InputChannelConv2d, OutputChannelConv2d
from course_lib.model_parallel.grid import Grid
from course_lib.model_parallel.halo import RegionConv2d, collect_rows, return_rows
from course_lib.model_parallel.hybrid import HybridPlan, choose_splits, layer_elements, plan_bytes
from course_lib.model_parallel.hybrid_network import HybridNetwork
from course_lib.model_parallel.layers import ALEXNET, VGG16, ConvShape, LinearShape
from course_lib.model_parallel.layers_of_ranks import layered_elements_sent, layered_product
from course_lib.model_parallel.layouts import gather, own_part, part_lengths, part_starts, scatter_sum
from course_lib.model_parallel.linear import ExampleSplitLinear, InputSplitLinear, OutputSplitLinear
from course_lib.model_parallel.lower_bound import min_elements_moved
from course_lib.model_parallel.regions import RowKernel, Rows, Transfer, halo_plan, needed_rows, owned_rows
from course_lib.model_parallel.strassen import Operations, classical_operations, strassen_operations, strassen_product
from course_lib.model_parallel.summa import Panel, panels, summa_elements_received, summa_elements_sent, summa_product
from course_lib.model_parallel.traffic import (
    CONV_SPLITS,
    LINEAR_SPLITS,
    Traffic,
    border_batch,
    conv_traffic,
    linear_traffic,
)
from course_lib.model_parallel.weight_update import WAYS, NeuronLayer, train_neurons, training_seconds

__all__ = [
    "ExampleSplitLinear",
    "OutputSplitLinear",
    "InputSplitLinear",
    "own_part",
    "gather",
    "scatter_sum",
    "part_lengths",
    "part_starts",
    "LINEAR_SPLITS",
    "Traffic",
    "linear_traffic",
    "border_batch",
    "WAYS",
    "NeuronLayer",
    "train_neurons",
    "training_seconds",
    "Operations",
    "strassen_product",
    "strassen_operations",
    "classical_operations",
    "Grid",
    "cannon_product",
    "cannon_elements_sent",
    "Panel",
    "panels",
    "summa_product",
    "summa_elements_received",
    "summa_elements_sent",
    "min_elements_moved",
    "layered_product",
    "layered_elements_sent",
    "OutputChannelConv2d",
    "InputChannelConv2d",
    "Rows",
    "RowKernel",
    "Transfer",
    "owned_rows",
    "needed_rows",
    "halo_plan",
    "collect_rows",
    "return_rows",
    "RegionConv2d",
    "CONV_SPLITS",
    "conv_traffic",
    "LinearShape",
    "ConvShape",
    "ALEXNET",
    "VGG16",
    "HybridPlan",
    "layer_elements",
    "plan_bytes",
    "choose_splits",
    "HybridNetwork",
]
