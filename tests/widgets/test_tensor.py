"""The tensor explorer: what it shows is what the counts of chapter 05 say."""

import pytest

from course_lib.tensor_parallel import MEGATRON_WEAK_SCALING, communication_share
from course_lib.widgets import TensorExplorer
from course_lib.widgets.tensor.model import TensorSetting, efficiency_curve
from course_lib.widgets.tensor.panels import describe_tensor

from .parts import facts_of

SETTING = TensorSetting(72, 3072, 32, 51_200, 8, 1, 8, 39e12, 120e9, 12.5e9)


@pytest.mark.parametrize("model", MEGATRON_WEAK_SCALING)
def test_its_efficiency_is_that_of_the_all_reduces_alone(model):
    setting = SETTING._replace(layers=model.layers, hidden=model.hidden, heads=model.heads, tensor=model.gpus)
    assert setting.efficiency == pytest.approx(communication_share(model), abs=1e-12)


def test_a_copy_that_leaves_its_node_pays_for_the_link_outside():
    inside, outside = efficiency_curve(SETTING, (8, 16))
    assert outside < 0.6 * inside


def test_states_shrink_with_the_ranks_of_a_copy_and_not_with_the_copies():
    assert SETTING._replace(data=64).state_bytes == SETTING.state_bytes == 16 * SETTING.parameters / 8
    assert SETTING._replace(tensor=4).state_bytes == 2 * SETTING.state_bytes


def test_copies_send_each_other_their_gradients():
    assert SETTING.data_bytes == 0
    assert SETTING._replace(data=2).data_bytes == pytest.approx(2 * SETTING.parameters / 8)


def test_it_says_what_it_shows():
    assert facts_of(TensorExplorer())["parameters"] == "8.32 billion"
    assert "a copy across nodes of 8" in describe_tensor(SETTING._replace(tensor=16))
