"""The lines that `course plan` prints."""

from __future__ import annotations

from course_lib.planning.shape import ModelShape

__all__ = ["model_lines"]


def model_lines(shape: ModelShape) -> list[str]:
    """What the model is: its parameters, exactly, and those that one token meets.

    >>> from course_lib.planning import shape_of
    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> print(*model_lines(shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, 16)), sep="\\n")
    Parameters: 252
    """
    lines = [f"Parameters: {shape.count:,}{_billions(shape.count)}"]
    if shape.experts > 1:
        lines.append(f"A token meets {shape.active_count:,}{_billions(shape.active_count)}")
    if shape.predicting_layers:
        said = f"{shape.predicting_count:,}{_billions(shape.predicting_count)}"
        lines.append(f"Not planned: {shape.predicting_layers} module for further tokens, {said} more")
    return lines


def _billions(number: float) -> str:
    return f" ({number / 1e9:.2f} B)" if number >= 1e8 else ""
