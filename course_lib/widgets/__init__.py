"""Explorers: pictures with controls, for pages that answer when they are touched."""

from course_lib.draw.panels import Bars, Cell, Lane, Line, Lines, Matrix, Stretch, Table, Timeline, axis
from course_lib.widgets.all_reduce import AllReduceExplorer
from course_lib.widgets.cannon import CannonExplorer
from course_lib.widgets.checkpoint import CheckpointExplorer
from course_lib.widgets.controls import bytes_slider, menu, number, rate_slider, scale, seconds_slider
from course_lib.widgets.decomposition import DecompositionExplorer
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.faults import FaultsExplorer
from course_lib.widgets.mesh import MeshExplorer
from course_lib.widgets.pipeline import PipelineExplorer
from course_lib.widgets.precision import PrecisionExplorer
from course_lib.widgets.ring import RingExplorer
from course_lib.widgets.scaling import ScalingExplorer
from course_lib.widgets.server import ServerExplorer
from course_lib.widgets.split import SplitExplorer
from course_lib.widgets.step import StepExplorer
from course_lib.widgets.storage import StorageExplorer
from course_lib.widgets.tensor import TensorExplorer

# What tests and benchmarks go through: an explorer that is imported above is among them.
EXPLORERS = sorted(name for name in globals() if name.endswith("Explorer") and name != "Explorer")
