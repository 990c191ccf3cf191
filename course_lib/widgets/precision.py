"""The precision explorer: bits to press, a format, a network's gradients and a loss scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn

from course_lib.draw.chapters.precision import FIELD_COLORS
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Cell, Line, Lines, Matrix, PanelAxis, Sketch, Table, axis
from course_lib.draw.panels.drawing import Key
from course_lib.precision import BF16, E4M3, E5M2, FP16, Fates, FloatFormat, activation_gradients
from course_lib.precision.experiments.problems import AUTOENCODER, Problem, digits_classifier
from course_lib.precision.experiments.recipes import FP32_RECIPE, train
from course_lib.tasks import LanguageLSTM, LSTMConfig, next_token_loss, source_tokens, text_batches
from course_lib.widgets.controls import Bits, disable, menu, scale, step_slider
from course_lib.widgets.precision_rounding import STEPS, VALUES, rounding_pictures
from course_lib.widgets.settings import EVERY, SteppedExplorer, control, control_of

CLICKABLE: Mapping[str, FloatFormat] = {each.name: each for each in (FP16, BF16, E4M3, E5M2)}
NETWORKS = ("autoencoder, after 100 steps", "digits network, new", "LSTM on text, new")


SCALES = tuple(2.0**k for k in range(-8, 33))
_YOURS = "network of yours"
_BOOK_BITS = ["0011111000000000", "0000000000000001", "0111101111111111", "0111110000000000", "1011110000000000"]
_BOOK_SCALES = [1.0, 2.0**3, 2.0**10, 2.0**16, 2.0**17, 2.0**18, 2.0**30, 2.0**31]


def _networks(own: Sorted | None) -> tuple[str, ...]:
    return NETWORKS if own is None else (_YOURS, *NETWORKS)


def _whole(loss_scale: float) -> str:
    return f"{loss_scale:g}" if loss_scale <= 1024 else f"{loss_scale:,.0f}"


@dataclass(frozen=True)
class PrecisionSetting:
    """All that the controls say; `rounded` is the name of a number that is rounded, step by step, or ""."""

    number_format: str = control("fp16", menu, "format", list(CLICKABLE), book=EVERY)
    rounded: str = control("", menu, "round", {"nothing": "", **{name: name for name in VALUES}}, book=EVERY)
    bits: str = control_of(
        "0011111000000000", lambda s, bits: Bits(bits, s.format.bits, s.format.exponent_bits), book=_BOOK_BITS
    )
    network: str = control_of(NETWORKS[0], lambda s, value: menu("gradients of", _networks(s.own), value), book=EVERY)
    loss_scale: float = control(1.0, scale, "loss scale", SCALES, show=_whole, only=True, book=_BOOK_SCALES)
    step: int = control(0, step_slider, "step", book=EVERY, about="of rounding")
    own: Sorted | None = None

    @property
    def format(self) -> FloatFormat:
        """The number format."""
        return CLICKABLE[self.number_format]

    @property
    def gradients(self) -> Sorted:
        """Those of the network, or of yours."""
        return self.own if self.own is not None and self.network == _YOURS else of_network(self.network)

    @property
    def fates(self) -> Fates:
        """What becomes of the gradients."""
        return self.gradients.fates(self.format, [self.loss_scale])[0]

    @property
    def value(self) -> float:
        """The number that the bits stand for."""
        return self.format.decode(int(self.bits, 2)).item()


class Sorted(NamedTuple):
    """Gradients by magnitude, those that are zero counted only: quick to ask at every scale."""

    magnitudes: torch.Tensor  # float64, ascending, none of them 0
    zeros: int

    def fates(self, number_format: FloatFormat, scales: Sequence[float]) -> list[Fates]:
        """What `course_lib.precision.fates` says, for scales that are powers of two."""
        lost, normal, overflow = _edges(number_format)
        by_scale = 1 / torch.tensor(scales, dtype=torch.float64)
        edges = torch.stack([normal * by_scale, overflow * by_scale])
        first = torch.searchsorted(self.magnitudes, lost * by_scale, right=True)[None]
        ends = torch.full_like(first, len(self.magnitudes))
        places = [torch.zeros_like(first), first, torch.searchsorted(self.magnitudes, edges), ends]
        counts = torch.cat(places).diff(dim=0)
        whole = max(self.zeros + len(self.magnitudes), 1)
        return [Fates(self.zeros / whole, *row) for row in (counts / whole).T.tolist()]

    def by_exponent(self, low: int, high: int) -> dict[int, float]:
        """The share of those that are not 0 between 2^e and 2^(e + 1), for e from low to high - 1."""
        edges = 2.0 ** torch.arange(low, high + 1, dtype=torch.float64)
        counts = torch.searchsorted(self.magnitudes, edges).diff().tolist()
        return {low + place: count / max(len(self.magnitudes), 1) for place, count in enumerate(counts)}


@cache
def _edges(number_format: FloatFormat) -> tuple[float, float, float]:
    """Up to where a number becomes 0, from where it is normal, and from where it is too large.

    Ties go to 0 and to the smallest normal number, for both are even.
    """
    smallest, largest = number_format.smallest_subnormal, number_format.largest
    too_large = largest + number_format.spacing(largest).item() / 2
    return smallest / 2, number_format.smallest_normal - smallest / 2, too_large


def sort_gradients(gradients: torch.Tensor) -> Sorted:
    """The gradients as the explorer keeps them.

    Raises:
        ValueError: if there is none, or if one is no finite number.
    """
    magnitudes = gradients.detach().double().abs().flatten()
    if not magnitudes.numel() or not magnitudes.isfinite().all():
        raise ValueError(f"there must be gradients, all of them finite, got {magnitudes.numel()}")
    return Sorted(magnitudes[magnitudes > 0].sort().values, int((magnitudes == 0).sum()))


@cache
def of_network(name: str) -> Sorted:
    """The gradients of all activations of one of NETWORKS, after as many steps in fp32 as its name says."""
    if name == NETWORKS[2]:
        model, (inputs, targets) = LanguageLSTM(LSTMConfig()), next(text_batches(source_tokens(20_000), 16, 32))
        return sort_gradients(activation_gradients(model, lambda: next_token_loss(model(inputs), targets)))
    if name == NETWORKS[0]:
        return _of_problem(AUTOENCODER, train(AUTOENCODER, FP32_RECIPE, 100).model, seed=9)
    return _of_problem(digits_classifier(), digits_classifier().model(0))


def _of_problem(problem: Problem, model: nn.Module, seed: int = 0) -> Sorted:
    inputs, targets = next(problem.batches(seed))
    return sort_gradients(activation_gradients(model, lambda: problem.loss(model(inputs), targets)))


def neighbors(number_format: FloatFormat, value: float) -> tuple[float, float]:
    """The next numbers below and above; a number at the end of the format has an infinity beside it, or itself.

    >>> neighbors(FP16, 2048.0), neighbors(FP16, 0.0) == (-(2**-24), 2**-24)
    ((2047.0, 2050.0), True)
    """
    if math.isnan(value):
        return value, value
    if value < 0:
        below, above = neighbors(number_format, -value)
        return -above, -below
    if value == 0:
        return -number_format.smallest_subnormal, number_format.smallest_subnormal
    code = int(number_format.encode(value))
    last = number_format.largest_code + number_format.infinities
    return number_format.decode(code - 1).item(), number_format.decode(min(code + 1, last)).item()


# The pictures of the precision explorer: bits, spacing by magnitude, gradients by exponent, what is kept by scale.

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOW, _HIGH = -44, 20  # exponents of the histogram
_MAGNITUDES = [2.0**k for k in range(-30, 20)]
_COLORS = (COLORS["blue"], COLORS["orange"], COLORS["green"], COLORS["vermillion"])
_FATES = {
    "lost": COLORS["vermillion"],
    "subnormal": COLORS["orange"],
    "normal": COLORS["blue"],
    "overflow": COLORS["plum"],
}


def describe_precision(setting: PrecisionSetting) -> str:
    """The setting in words."""
    kept = setting.fates
    below, above = neighbors(setting.format, setting.value)
    return (
        f"These bits are {_number(setting.value)} in {setting.format.name}, between {_number(below)} and "
        f"{_number(above)}. Of the gradients times {_power(setting.loss_scale)}, {_share(kept.lost)} are lost, "
        f"{_share(kept.subnormal + kept.normal)} are kept, {_share(kept.overflow)} overflow."
    )


def _facts(setting: PrecisionSetting) -> Table:
    number_format = setting.format
    sign, exponent, mantissa = (int(field) for field in number_format.fields(int(setting.bits, 2)))
    kind = "subnormal" if exponent == 0 and mantissa else "zero" if exponent == 0 else "normal"
    below, above = neighbors(number_format, setting.value)
    facts = {
        "value": _number(setting.value),
        "kind": kind if math.isfinite(setting.value) else "no finite number",
        "exponent": f"{exponent} − {number_format.bias}",
        "next below": _number(below),
        "next above": _number(above),
        "largest": _number(number_format.largest),
        "smallest": _number(number_format.smallest_subnormal),
    }
    return Table({"sign": "−" if sign else "+"} | facts, "computed")


def _bits(setting: PrecisionSetting) -> Matrix:
    number_format = setting.format
    fields = ["sign"] + ["exponent"] * number_format.exponent_bits + ["mantissa"] * number_format.mantissa_bits
    cells = [Cell(FIELD_COLORS[field], bit) for field, bit in zip(fields, setting.bits, strict=True)]
    cut = 1 + number_format.exponent_bits
    return Matrix(
        title=f"The bits, read as {number_format.name}",
        origin="computed",
        label=f"sign {setting.bits[0]}, exponent {setting.bits[1:cut]}, mantissa {setting.bits[cut:]}",
        cells=[cells],
        row_names=[number_format.name],
        column_names=[str(number_format.bits - 1 - place) for place in range(number_format.bits)],
        across="bit",
        keys=[Key(field, color) for field, color in FIELD_COLORS.items()],
    )


def _spacing(setting: PrecisionSetting) -> Lines:
    value = abs(setting.value)
    shown = math.isfinite(value) and _MAGNITUDES[0] <= value <= _MAGNITUDES[-1]
    here = (value, setting.format.spacing(value).item()) if shown else None
    return Lines(
        title="How far apart numbers are, by magnitude",
        origin="computed",
        label=f"spacing at {_number(value)}: {_number(here[1]) if here else 'beyond the picture'}",
        lines=_spacing_lines(),
        x=_powers("magnitude", -30, 19, 8),
        y=_powers("spacing", -36, 16, 8),
        here=here,
    )


@cache
def _spacing_lines() -> dict[str, Line]:
    lines = {}
    for (name, number_format), color in zip(CLICKABLE.items(), _COLORS, strict=True):
        inside = [x for x in _MAGNITUDES if x <= number_format.largest]
        lines[name] = Line(inside, number_format.spacing(inside).tolist(), color)
    return lines


def _histogram(setting: PrecisionSetting) -> Bars:
    """Each column is a power of two; its color says what the format makes of it."""
    shift = round(math.log2(setting.loss_scale))
    shares = setting.gradients.by_exponent(_LOW - shift, _HIGH - shift)
    bars = {
        _power(2.0 ** (exponent + shift)): {_fate(setting.format, exponent + shift): share}
        for exponent, share in shares.items()
    }
    most = max(max(share for part in bars.values() for share in part.values()), 0.01)
    kept = setting.fates
    return Bars(
        title=f"Gradients times {_power(setting.loss_scale)}",
        origin="measured",
        label=f"{setting.network}: {_share(kept.zero)} are 0, {_share(kept.lost)} lost, {_share(kept.subnormal)} "
        f"subnormal, {_share(kept.normal)} normal, {_share(kept.overflow)} overflow",
        bars=bars,
        axis=axis("share of those that are not 0", [0], "%", high=1.1 * most),
        upright=True,
        names="magnitude",
        colors=_FATES,
    )


def _survival(setting: PrecisionSetting) -> Lines:
    fates, now = setting.gradients.fates(setting.format, SCALES), setting.fates
    return Lines(
        title="What is kept, by loss scale",
        origin="measured",
        label=f"at {_power(setting.loss_scale)}: {_share(now.subnormal + now.normal)} kept",
        lines={
            "kept": Line(SCALES, [min(each.subnormal + each.normal, 1.0) for each in fates], _FATES["normal"]),
            "with all bits": Line(SCALES, [each.normal for each in fates], _FATES["normal"], (4, 3)),
            "lost": Line(SCALES, [each.lost for each in fates], _FATES["lost"]),
            "overflow": Line(SCALES, [each.overflow for each in fates], _FATES["overflow"]),
        },
        x=_powers("loss scale", -8, 32, 8),
        y=axis("share of the gradients", [0], "%", high=1.0),
        here=(setting.loss_scale, now.subnormal + now.normal),
    )


def _share(share: float) -> str:
    """In percent; none and all are said only where they are exact.

    >>> _share(0), _share(1e-6), _share(0.33), _share(1 - 1e-6), _share(1)
    ('0%', 'under 0.1%', '33.0%', 'over 99.9%', '100%')
    """
    if share <= 0 or share > 1 - 1e-7:
        return f"{share:.0%}"
    return "under 0.1%" if share < 0.0005 else "over 99.9%" if share > 0.9995 else f"{share:.1%}"


def _fate(number_format: FloatFormat, exponent: int) -> str:
    """What becomes of numbers between 2^exponent and twice that."""
    if 2.0**exponent < number_format.smallest_subnormal / 2:
        return "lost"
    if 2.0**exponent < number_format.smallest_normal:
        return "subnormal"
    return "normal" if 2.0**exponent <= number_format.largest else "overflow"


def _powers(name: str, low: int, high: int, step: int) -> PanelAxis:
    ticks = {2.0**k: _power(2.0**k) for k in range(-96, 96) if low <= k <= high and k % step == 0}
    return PanelAxis(name, 2.0**low, 2.0**high, ticks, log=True)


def _power(scale: float) -> str:
    return "2" + str(round(math.log2(scale))).translate(_RAISED)


def _number(value: float) -> str:
    """A number so that it can be told from its neighbors."""
    return f"{value:.6g}".replace("inf", "∞").replace("nan", "not a number").replace("-", "−")


class PrecisionExplorer(SteppedExplorer):
    """The bits of a number with its neighbors, and what a format makes of a network's gradients at each loss scale;
    or a number that is rounded, to be played.

    Numbers and their spacing are computed from the format's definition; gradients are those of all activations in one
    backward pass through a network.

    Args:
        gradients: of yours; they are then in the menu, and chosen.
    """

    Setting = PrecisionSetting

    def __init__(self, gradients: torch.Tensor | None = None, **asked: Any) -> None:
        if gradients is not None:
            if not isinstance(gradients, torch.Tensor):
                raise TypeError(f"gradients must be a tensor, got a {type(gradients).__name__}")
            asked |= {"own": sort_gradients(gradients), "network": _YOURS}
        super().__init__(**asked)

    @staticmethod
    def pictures(setting: PrecisionSetting) -> list[str | Table | Matrix | Lines | Bars | Sketch]:
        """All that is shown of a setting."""
        if setting.rounded:
            return [*rounding_pictures(setting.format, setting.rounded, setting.step)]
        return [
            describe_precision(setting),
            _facts(setting),
            _bits(setting),
            _spacing(setting),
            _histogram(setting),
            _survival(setting),
        ]

    def prepare(self) -> None:
        """The same bits, read in the chosen format. A number that is rounded needs none, and no gradients."""
        super().prepare()
        rounded = bool(self.controls["rounded"].value)
        for name in ("network", "loss_scale", "bits"):
            disable(self.controls[name], rounded, "the number that is rounded does not depend on it")
            if rounded:
                self.controls[name].value = getattr(self.asked, name)
        number_format = CLICKABLE[self.controls["number_format"].value]
        self.controls["bits"].read_as(number_format.bits, number_format.exponent_bits)

    def steps(self, setting: PrecisionSetting) -> int:
        """Of rounding."""
        return STEPS

    def before_playing(self, setting: PrecisionSetting) -> dict[str, Any]:
        """Round the first number."""
        return {} if setting.rounded else {"rounded": next(iter(VALUES))}
