"""The mesh explorer: a published model, a number of GPUs, and where the model lies on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from course_lib.mesh import RECOMPUTE
from course_lib.widgets.controls import explain, menu, number, offer
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.mesh.model import PRESETS, MeshSetting, choices, published_setting, settle
from course_lib.widgets.mesh.panels import pictures

__all__ = ["MeshExplorer"]


class MeshExplorer(Explorer):
    """Memory of a GPU, time of a step and MFU by the model of chapter 13, for models that others have trained, beside
    what they published. Data ranks are what is left of the GPUs.

    Args:
        model: one of PRESETS; it brings its batch and its cluster, and lies as published at first.
        rank: whose groups are shown.
        changes: where other controls stand at first: gpus, context, tensor, pipeline, expert, micro_batch, chunks,
            recompute, sequence_parallel, zero.
    """

    moves: ClassVar = {
        "model": [*[*PRESETS][:10:6], "GPT 1008 B, Narayanan", *[*PRESETS][-2:]],
        "tensor": None,
        "pipeline": None,
        "context": None,
        "recompute": None,
    }

    def __init__(self, *, model: str = "GPT 1008 B, Narayanan", rank: int = 0, **changes: Any) -> None:
        asked = published_setting(model)._replace(rank=rank, **changes)
        first = settle(asked)
        offered = choices(first)
        for name, value in changes.items():
            if value != getattr(first, name):
                raise ValueError(f"{name} must be one of {offered[name]} with the rest of the plan, got {value}")
        self._model = model
        super().__init__(
            lambda **values: pictures(MeshSetting(**values)),
            model=menu("model", list(PRESETS), model),
            gpus=menu("GPUs", _named(offered["gpus"]), first.gpus),
            tensor=menu("tensor ranks", _named(offered["tensor"]), first.tensor),
            pipeline=menu("stages", _named(offered["pipeline"]), first.pipeline),
            context=menu("context ranks", _named(offered["context"]), first.context),
            expert=menu("experts dealt to", _named(offered["expert"]), first.expert),
            micro_batch=menu("micro-batch", _named(offered["micro_batch"]), first.micro_batch),
            chunks=menu("chunks a rank", _named(offered["chunks"]), first.chunks),
            recompute=menu("recompute", list(RECOMPUTE), first.recompute),
            sequence_parallel=menu(
                "sequence is", {"whole on tensor ranks": False, "cut": True}, first.sequence_parallel
            ),
            zero=menu("optimizer", {"on each data rank": 0, "sharded (ZeRO 1)": 1}, first.zero),
            rank=number("groups of rank", 0, first.gpus - 1, rank),
        )

    def prepare(self) -> None:
        """Another model lies as published; each control offers what is possible with those above it."""
        values = MeshSetting(**self.values)
        if values.model != self._model:
            values = published_setting(values.model)._replace(rank=values.rank)
        self._model, values = values.model, settle(values)
        for name, offered in choices(values).items():
            offer(self.controls[name], _named(offered), getattr(values, name))
        for name in ("recompute", "sequence_parallel", "zero"):
            self.controls[name].value = getattr(values, name)
        self.controls["rank"].max, self.controls["rank"].value = values.gpus - 1, values.rank
        alone = values.data * values.context == 1
        explain(self.controls["sequence_parallel"], values.tensor == 1, "there is one tensor rank only")
        explain(self.controls["zero"], alone, "there is one data rank only")
        explain(self.controls["chunks"], len(choices(values)["chunks"]) == 1, "this pipeline does not interleave")
        explain(self.controls["context"], len(choices(values)["context"]) == 1, "a rank needs 1,024 tokens")
        explain(self.controls["expert"], values.preset.shape.experts == 1, "this model has one MLP a layer")

    def put(self, where: Mapping[str, Mapping[str, Any]]) -> None:
        """Bring every control back to where it stood, without drawing."""
        self._model = where["model"]["value"]  # or its published plan would come in place of the one that stood here
        super().put(where)


def _named(values: list[int]) -> dict[str, int]:
    return {f"{value:,}": value for value in values}
