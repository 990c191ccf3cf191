"""A model as its Hugging Face `config.json` describes it, or as a few numbers do."""

from __future__ import annotations

import difflib
import json
import os
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_lib.planning.shape import MlaSizes, ModelShape

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3")
# The fields that are read, for what is typed: a slip such as num_kv_heads would be another model without a word.
_READ = [
    *("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "head_dim", "tie_word_embeddings", "attention_bias", "mlp_bias"),
    *("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "num_nextn_predict_layers"),
    *("num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    *("n_shared_experts", "shared_expert_intermediate_size", "first_k_dense_replace", "decoder_sparse_step"),
]
_LARGEST = 10**9  # of a field: so a slip such as a number of parameters for a width is named


class ConfigError(ValueError):
    """A field that is missing or wrong: its name, what was expected, what was there."""


def read_fields(model: str) -> dict[str, Any]:
    """The fields of a `config.json` by its path, or of numbers such as "hidden_size=4096,num_hidden_layers=32".

    Raises:
        ConfigError: if there is no such file, or it is no JSON object, or a pair has no number, comes twice or has a
            name that is read nowhere.
    """
    path = Path(model)
    if "=" in model and not os.path.exists(path):  # which also answers of a name that is too long for a file
        return _pairs(model)
    path = path / "config.json" if os.path.isdir(path) else path
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"{model} cannot be read ({error.strerror}); expected a config.json, "
            'or numbers such as "hidden_size=4096,num_hidden_layers=32"'
        ) from error
    except (ValueError, RecursionError) as error:  # also lists within lists, or a number of thousands of digits
        raise ConfigError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigError(f"{path} must hold a JSON object of fields, got a {type(fields).__name__}")
    return fields


def _pairs(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for pair in text.replace(",", " ").split():
        name, _, value = pair.partition("=")
        if name not in _READ:
            near = difflib.get_close_matches(name, _READ, n=1)
            raise ConfigError(f"{name!r} is no field that is read" + (f"; {near[0]}?" if near else ""))
        if name in fields:
            raise ConfigError(f"{name} stands there twice")
        try:
            fields[name] = value if name == "model_type" else json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{name} must be a number, true or false, got {reprlib.repr(value)}") from error
    return {"model_type": "llama"} | fields


class _Fields:
    """Fields that are asked for by name, each checked when it is read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        value = self.fields.get(name)
        if value is None and default is not None:
            return default
        expected = f"{name} must be a whole number from {least} to {_LARGEST:,}"
        if value is None:
            raise ConfigError(f"{expected}, but it is {'null' if name in self.fields else 'missing'}")
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
            raise ConfigError(f"{expected}, got {value!r}")
        return value

    def truth(self, name: str, default: bool = False) -> bool:
        value = self.fields.get(name, default)
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, got {value!r}")
        return value


def shape_of(fields: Mapping[str, Any], sequence: int) -> ModelShape:
    """The model that the fields describe, for sequences of so many tokens.

    Raises:
        ConfigError: naming the first field that is missing or wrong, and what was expected of it.

    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, sequence=16).count
    252
    """
    family = fields.get("model_type")
    if family not in FAMILIES:
        raise ConfigError(f"model_type must be one of {', '.join(FAMILIES)}, got {family!r}")
    read = _Fields(fields)
    hidden, heads = read.whole("hidden_size"), read.whole("num_attention_heads")
    shared = _key_value_heads(read, family, heads)
    mla = _mla(read) if family == "deepseek_v3" else None
    return ModelShape(
        family=family,
        layers=read.whole("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        vocabulary=read.whole("vocab_size"),
        sequence=sequence,
        key_value_heads=None if mla else shared,
        mlp_hidden=read.whole("intermediate_size"),
        gated=True,
        tied=read.truth("tie_word_embeddings"),
        fused_attention=True,
        head_dim=0 if mla else _head_dim(read, family, hidden, heads),
        mla=mla,
        attention_bias=read.truth("attention_bias"),
        mlp_bias=read.truth("mlp_bias") if family == "llama" else False,
        predicting_layers=read.whole("num_nextn_predict_layers", 0, 0) if mla else 0,
        **_experts(read, family),
    )


def _key_value_heads(read: _Fields, family: str, heads: int) -> int:
    shared = read.whole("num_key_value_heads", heads if family in ("llama", "deepseek_v3") else None)
    if heads % shared:
        raise ConfigError(f"num_key_value_heads must divide num_attention_heads = {heads}, got {shared}")
    return shared


def _head_dim(read: _Fields, family: str, hidden: int, heads: int) -> int:
    if read.fields.get("head_dim") is None and family != "qwen3":  # whose heads are 128 by default
        if hidden % heads:
            raise ConfigError(
                f"num_attention_heads must divide hidden_size = {hidden} unless head_dim is given, got {heads}"
            )
        return hidden // heads
    return read.whole("head_dim")


def _mla(read: _Fields) -> MlaSizes:
    query = 0 if read.fields.get("q_lora_rank", 0) is None else read.whole("q_lora_rank")
    names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return MlaSizes(query, *(read.whole(name) for name in names))


def _experts(read: _Fields, family: str) -> dict[str, Any]:
    """How many experts, of which width, which of a layer's MLPs every token meets, and which layers have none."""
    if family in ("llama", "mistral", "qwen2", "qwen3"):
        return {}
    usual = {"mixtral": "num_local_experts", "deepseek_v3": "n_routed_experts"}.get(family, "num_experts")
    renamed = usual not in read.fields and "num_local_experts" in read.fields  # as transformers 5 writes it
    count = read.whole("num_local_experts" if renamed else usual, least=2)
    active = read.whole("num_experts_per_tok")
    if active > count:
        raise ConfigError(f"num_experts_per_tok must be at most the {count} experts, got {active}")
    width = read.whole("intermediate_size" if family == "mixtral" else "moe_intermediate_size")
    layers = read.whole("num_hidden_layers")
    shared, dense = 0, 0
    if family == "deepseek_v3":
        shared, dense = width * read.whole("n_shared_experts", 0, 0), _first_dense(read, layers)
    elif family != "mixtral":
        dense = _dense_among(read, layers)
    if family == "qwen2_moe":
        shared = read.whole("shared_expert_intermediate_size")
    return {
        "experts": count,
        "active": active,
        "expert_hidden": width,
        "shared_hidden": shared,
        "dense_layers": dense,
    }


def _first_dense(read: _Fields, layers: int) -> int:
    first = read.whole("first_k_dense_replace", 0, 0)
    if first >= layers:
        raise ConfigError(f"first_k_dense_replace must be less than num_hidden_layers = {layers}, got {first}")
    return first


def _dense_among(read: _Fields, layers: int) -> int:
    """Qwen's rule: a layer has experts unless `mlp_only_layers` names it or `decoder_sparse_step` leaves it out."""
    step, named = read.whole("decoder_sparse_step", 1), read.fields.get("mlp_only_layers") or []
    if not (isinstance(named, list) and all(type(each) is int for each in named)):
        raise ConfigError(f"mlp_only_layers must be a list of layers' numbers, got {named!r}")
    dense = sum(layer in named or (layer + 1) % step != 0 for layer in range(layers))
    if dense == layers:
        raise ConfigError(f"decoder_sparse_step = {step} and mlp_only_layers leave no layer with experts")
    return dense
