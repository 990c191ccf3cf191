"""The precision explorer: bits that can be pressed, neighbors by the format, fates as the library counts them."""

import math
import struct

import pytest
import torch

from course_lib.precision import BF16, E4M3, FP16, activation_gradients, exponent_counts, fates
from course_lib.precision.experiments.problems import AUTOENCODER
from course_lib.precision.experiments.recipes import FP32_RECIPE, train
from course_lib.widgets import PrecisionExplorer
from course_lib.widgets.controls import Bits
from course_lib.widgets.precision import CLICKABLE, NETWORKS, neighbors, of_network, sort_gradients
from course_lib.widgets.precision_rounding import VALUES, describe_rounding, rounding_of

from .parts import facts_of, part, shown


def pressed(bits: Bits) -> str:
    return "".join(button.description for button in bits._buttons if button.layout.display != "none")


def test_pressing_a_bit_changes_the_number():
    explorer = PrecisionExplorer()
    assert facts_of(explorer)["value"] == "1.5"
    bits = explorer.controls["bits"]
    bits._buttons[15].value = True
    assert (bits.value, pressed(bits)) == ("0011111000000001",) * 2
    assert facts_of(explorer)["value"] == "1.50098"
    bits._buttons[0].value = True
    assert facts_of(explorer)["sign"] == "−"
    explorer.reset.click()
    assert pressed(bits) == "0011111000000000"
    assert facts_of(explorer)["value"] == "1.5"


def test_bits_that_are_set_press_their_buttons_and_draw_once():
    bits, values = Bits("0" * 16, FP16.bits, FP16.exponent_bits), []
    bits.observe(lambda change: values.append(change["new"]), names="value")
    bits.value = "0111101111111111"
    assert pressed(bits) == "0111101111111111"
    assert values == ["0111101111111111"]


def test_another_format_reads_the_same_bits_and_names_them_anew():
    explorer = PrecisionExplorer()
    bits = explorer.controls["bits"]
    assert [button.tooltip for button in bits._buttons[:7:5]] == ["sign: minus", "exponent: 1"]
    explorer.set(number_format="bf16")
    assert float(facts_of(explorer)["value"]) == BF16.decode(0b0_01111100_0000000).item()
    assert bits._buttons[5].tooltip == "exponent: 8"
    explorer.set(number_format="fp8 e5m2")
    assert (bits.value, facts_of(explorer)["value"]) == ("00111110", "1.5")
    explorer.set(number_format="fp16")
    assert facts_of(explorer)["value"] == "1.5"


@pytest.mark.parametrize("number_format", CLICKABLE.values(), ids=CLICKABLE)
def test_every_number_lies_between_its_neighbors_which_are_next_to_each_other(number_format):
    values = number_format.decode(torch.arange(0, 2**number_format.bits, 37))
    for value in values[values.isfinite()].tolist():
        below, above = neighbors(number_format, value)
        assert below < value < above or abs(value) == number_format.largest
        if math.isfinite(above - below) and value:
            middle = number_format.round(torch.tensor([(below + value) / 2, (value + above) / 2])).tolist()
            assert set(middle) <= {below, value, above}


def test_the_ends_of_a_format_have_infinity_or_nothing_beside_them():
    assert neighbors(FP16, 65504.0) == (65472.0, math.inf)
    assert neighbors(FP16, -65504.0) == (-math.inf, -65472.0)
    assert neighbors(E4M3, 448.0) == (416.0, 448.0)


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-8, 1.0, 2.0**10, 2.0**24])
@pytest.mark.parametrize("number_format", CLICKABLE.values(), ids=CLICKABLE)
def test_fates_are_those_of_the_library_ties_among_them(number_format, scale):
    smallest, normal = number_format.smallest_subnormal, number_format.smallest_normal
    edges = [smallest / 2, normal - smallest / 2, number_format.largest, number_format.largest * 1.03125]
    near = [edge * factor for edge in edges for factor in (1 - 2**-20, 1.0, 1 + 2**-20)]
    edges = torch.tensor([0.0, *near, *[-x for x in near]], dtype=torch.float64)
    values = torch.cat([torch.randn(500).double() * 1e-3, edges])
    assert sort_gradients(values).fates(number_format, [1.0, scale])[1] == pytest.approx(
        fates(values, number_format, scale)
    )


def test_the_gradients_are_those_of_the_library():
    model, (x, y) = train(AUTOENCODER, FP32_RECIPE, 100).model, next(AUTOENCODER.batches(9))
    gradients = activation_gradients(model, lambda: AUTOENCODER.loss(model(x), y))
    counts, mine = exponent_counts(gradients), of_network(NETWORKS[0])
    shares = mine.by_exponent(min(counts), max(counts) + 1)
    assert shares == pytest.approx({e: counts.get(e, 0) / sum(counts.values()) for e in shares})


def test_a_larger_scale_moves_the_histogram_and_what_is_kept():
    explorer = PrecisionExplorer()
    explorer.set(loss_scale=2.0**16)
    assert "Gradients times 2¹⁶" in shown(explorer, "Gradients")
    kept = of_network(NETWORKS[0]).fates(FP16, [2.0**16])[0]
    assert part(explorer, "What is kept").here == (2.0**16, kept.subnormal + kept.normal)
    assert 0 < kept.lost < 1e-4
    assert "under 0.1% are lost, over 99.9% are kept, 0% overflow" in explorer.caption
    explorer.set(loss_scale=2.0**18)
    assert "0% are lost, 100% are kept, 0% overflow" in explorer.caption


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_is_shown(network):
    assert 0 <= of_network(network).fates(FP16, [1.0])[0].lost < 0.5
    assert PrecisionExplorer(network=network).problem is None


def test_ones_own_gradients_stand_in_the_menu():
    explorer = PrecisionExplorer(torch.tensor([0.0, 1e-9, 1.0, 1e9]))
    assert "25.0% are lost, 25.0% are kept, 25.0% overflow" in explorer.caption
    with pytest.raises(ValueError, match="all of them finite, got 1"):
        PrecisionExplorer(torch.tensor([math.inf]))


@pytest.mark.parametrize("bits", ["0" * 16, "1" + "0" * 15, "0" * 15 + "1", "0111110000000000", "1" * 16])
def test_zeros_subnormal_numbers_infinity_and_no_number_are_shown(bits):
    assert PrecisionExplorer(bits=bits).problem is None


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("number_format", CLICKABLE.values(), ids=str)
def test_a_number_lies_between_its_neighbors_and_goes_where_the_format_rounds_it(number_format, name):
    value = VALUES[name]
    found = rounding_of(number_format, value)
    assert found.below <= value < found.above
    assert found.below + found.rest * (found.above - found.below) == value
    result = number_format.decode(found.result).item()
    assert result == number_format.round(value).item()
    others = {found.below: found.above, found.above: found.below}
    assert abs(result - value) <= abs(others[result] - value)
    assert found.rest != 0.5 or found.result % 2 == 0
    assert ("tie" in found.why) == (found.rest == 0.5)


def test_the_bits_that_are_cut_are_those_of_the_number():
    number = struct.unpack(">I", struct.pack(">f", 0.1))[0]  # float32: ten bits as fp16's, then thirteen more
    found = rounding_of(FP16, 0.1)
    mantissa = f"{number:032b}"[9:]
    assert f"{found.code:016b}"[6:] + found.cut_bits() == mantissa[:22]


def test_ties_go_to_the_even_number_below_and_above():
    assert describe_rounding(FP16, "1 + 2⁻¹¹", 3).endswith("a tie: the even one, whose last bit is 0, is below.")
    assert describe_rounding(FP16, "1 + 3 · 2⁻¹¹", 3).endswith("is above.")
    assert describe_rounding(BF16, "257", 4) == "Step 4 of 4: 257 becomes 256."


def test_while_a_number_is_rounded_the_other_controls_rest_as_at_first():
    explorer = PrecisionExplorer()
    explorer.set(bits="0000000000000001", loss_scale=2.0**8)
    explorer.set(step=2)  # play opens it
    assert explorer.values["rounded"] == "0.1"
    assert explorer.controls["bits"].disabled
    assert explorer.caption.startswith("Step 2 of 4: what is cut is 0.4 of the spacing")
    explorer.set(rounded="")
    assert explorer.values == PrecisionExplorer().values
