"""A config.json, or numbers, as a model: parameters to the last one, and errors that name the field."""

import json
import re

import pytest

from course_lib.planning import FAMILIES, ConfigError, read_fields, shape_of

LLAMA = {"model_type": "llama", "vocab_size": 128_256, "num_key_value_heads": 8}
QWEN3 = {"vocab_size": 151_936, "num_attention_heads": 32, "head_dim": 128}


def sizes(hidden: int, mlp: int, layers: int, heads: int) -> dict[str, int]:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    return dict(zip(names, (hidden, mlp, layers, heads), strict=True))


MISTRAL_SIZES = {"vocab_size": 32_000, "num_key_value_heads": 8, **sizes(4096, 14_336, 32, 32)}
# Fields: Llama 2, Mistral 7B, Mixtral 8x7B, Qwen1.5-MoE and DeepSeek-V3 are the defaults of transformers 5.24. Llama 3
# is of arXiv 2407.21783, table 3, with the vocabulary of its config.json. Llama 3.2, Qwen2.5 and Qwen3 are of their
# config.json as copies on Hugging Face and public recipes have it.
# Counts: parameters of transformers 5.24's own class with these fields, on the meta device. DeepSeek's files have one
# bias an expert more (a buffer in transformers): 58 layers × 256 experts.
MODELS = {
    "Llama 2 7B": ({"model_type": "llama", "vocab_size": 32_000, **sizes(4096, 11_008, 32, 32)}, 6_738_415_616),
    "Llama 3 8B": ({**LLAMA, **sizes(4096, 14_336, 32, 32)}, 8_030_261_248),
    "Llama 3 70B": ({**LLAMA, **sizes(8192, 28_672, 80, 64)}, 70_553_706_496),
    "Llama 3.1 405B": ({**LLAMA, **sizes(16_384, 53_248, 126, 128)}, 405_853_388_800),
    "Llama 3.2 1B": (
        {**LLAMA, **sizes(2048, 8192, 16, 32), "head_dim": 64, "tie_word_embeddings": True},
        1_235_814_400,
    ),
    "Mistral 7B": ({"model_type": "mistral", **MISTRAL_SIZES}, 7_241_732_096),
    "Mixtral 8x7B": (
        {"model_type": "mixtral", **MISTRAL_SIZES, "num_local_experts": 8, "num_experts_per_tok": 2},
        46_702_792_704,
    ),
    "Qwen2.5 7B": (
        {"model_type": "qwen2", "vocab_size": 152_064, "num_key_value_heads": 4, **sizes(3584, 18_944, 28, 28)},
        7_615_616_512,
    ),
    "Qwen3 8B": (
        {"model_type": "qwen3", **QWEN3, "num_key_value_heads": 8, **sizes(4096, 12_288, 36, 32)},
        8_190_735_360,
    ),
    "Qwen3 30B A3B": (
        {
            "model_type": "qwen3_moe",
            **QWEN3,
            "num_key_value_heads": 4,
            **sizes(2048, 6144, 48, 32),
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
        },
        30_532_122_624,
    ),
    "Qwen1.5 MoE A2.7B": (
        {
            "model_type": "qwen2_moe",
            "vocab_size": 151_936,
            **sizes(2048, 5632, 24, 16),
            "num_experts": 60,
            "num_key_value_heads": 16,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
        14_315_784_192,
    ),
    "DeepSeek-V3": (
        {
            "model_type": "deepseek_v3",
            "vocab_size": 129_280,
            **sizes(7168, 18_432, 61, 128),
            "num_key_value_heads": 128,
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "n_routed_experts": 256,
            "num_experts_per_tok": 8,
            "n_shared_experts": 1,
            "moe_intermediate_size": 2048,
            "first_k_dense_replace": 3,
            "num_nextn_predict_layers": 1,
        },
        671_026_404_352 + 58 * 256,
    ),
}
# Billions as the authors' reports and model cards print them; some round, some cut.
PRINTED = {
    "Llama 3 8B": "8",
    "Llama 3 70B": "70",
    "Llama 3.1 405B": "405",
    "Llama 3.2 1B": "1.23",
    "Mixtral 8x7B": "46.7",
    "Qwen2.5 7B": "7.61",
    "Qwen3 8B": "8.2",
    "Qwen3 30B A3B": "30.5",
    "Qwen1.5 MoE A2.7B": "14.3",
    "DeepSeek-V3": "671",
}
# Counted by transformers 5.24 as above, of models with few layers and other choices.
CHOICES = {
    "llama": (
        {
            "vocab_size": 32_000,
            "num_key_value_heads": 4,
            **sizes(4096, 11_008, 3, 32),
            "attention_bias": True,
            "mlp_bias": True,
        },
        781_323_776,
    ),
    "deepseek_v3": (
        {**MODELS["DeepSeek-V3"][0], "num_hidden_layers": 5, "q_lora_rank": None},
        27_255_389_696 + 2 * 256,
    ),
    "qwen2_moe": (
        {
            **MODELS["Qwen1.5 MoE A2.7B"][0],
            "num_hidden_layers": 6,
            "decoder_sparse_step": 2,
            "mlp_only_layers": [3],
        },
        1_969_014_784,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_has_its_parameters_to_the_last_one(name: str) -> None:
    fields, count = MODELS[name]
    assert shape_of(fields, 4096).count == count


@pytest.mark.parametrize("name", PRINTED)
def test_it_is_the_number_that_the_authors_print_to_its_last_digit(name: str) -> None:
    digit = 10.0 ** -len(PRINTED[name].partition(".")[2])
    assert abs(shape_of(MODELS[name][0], 4096).count / 1e9 - float(PRINTED[name])) < digit


@pytest.mark.parametrize("family", CHOICES)
def test_biases_mixed_layers_and_queries_without_a_rank_are_counted(family: str) -> None:
    fields, count = CHOICES[family]
    assert shape_of({"model_type": family, **fields}, 4096).count == count


@pytest.mark.parametrize(("name", "billions"), [("Mixtral 8x7B", 12.9), ("Qwen1.5 MoE A2.7B", 2.7)])
def test_a_token_meets_what_the_authors_say(name: str, billions: float) -> None:
    assert round(shape_of(MODELS[name][0], 4096).active_count / 1e9, 1) == billions


def test_deepseeks_token_meets_what_its_weights_page_says_without_the_embedding() -> None:
    shape = shape_of(MODELS["DeepSeek-V3"][0], 4096)
    assert round((shape.active_count - shape.embedding_parameters) / 1e9, 1) == 36.6
    assert shape.predicting_count == pytest.approx(11.6e9, rel=0.002)


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_layer_of_the_cost_models_adds_up_to_the_model(name: str) -> None:
    shape = shape_of(MODELS[name][0], 4096)
    ends = (1 if shape.tied else 2) * shape.embedding_parameters + shape.hidden
    assert shape.layers * shape.layer_parameters + ends == pytest.approx(shape.count, rel=1e-12)


def test_a_plain_gpt_keeps_what_the_table_of_activations_says() -> None:
    fields = {"model_type": "llama", "vocab_size": 10, **sizes(64, 256, 2, 4)}
    shape = shape_of(fields, 16)
    assert shape.attention_kept == 8
    assert shape.attention_flops(1) == 2 * 16**2 * 64


def wrong(name: str, value: object, model: str = "Llama 3 8B") -> str:
    fields = {**MODELS[model][0], name: value}
    with pytest.raises(ConfigError) as raised:
        shape_of(fields, 4096)
    return str(raised.value)


@pytest.mark.parametrize("value", [0, -1, 4096.0, "4096", True, 10**10])
def test_a_wrong_size_is_named_with_what_was_expected(value: object) -> None:
    assert wrong("hidden_size", value) == f"hidden_size must be a whole number from 1 to 1,000,000,000, got {value!r}"


@pytest.mark.parametrize("name", ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"])
def test_a_missing_field_is_named(name: str) -> None:
    fields = {key: value for key, value in MODELS["Llama 3 8B"][0].items() if key != name}
    with pytest.raises(ConfigError, match=f"{name} must be a whole number .* but it is missing"):
        shape_of(fields, 4096)


def test_fields_that_do_not_go_together_are_named() -> None:
    assert wrong("num_key_value_heads", 5) == "num_key_value_heads must divide num_attention_heads = 32, got 5"
    assert "must divide hidden_size = 4096 unless head_dim is given, got 24" in wrong("num_attention_heads", 24)
    assert wrong("num_experts_per_tok", 9, "Mixtral 8x7B") == "num_experts_per_tok must be at most the 8 experts, got 9"
    assert "less than num_hidden_layers = 61, got 61" in wrong("first_k_dense_replace", 61, "DeepSeek-V3")
    assert wrong("tie_word_embeddings", "yes") == "tie_word_embeddings must be true or false, got 'yes'"
    assert "mlp_only_layers must be a list" in wrong("mlp_only_layers", 3, "Qwen3 30B A3B")
    assert "leave no layer with experts" in wrong("decoder_sparse_step", 49, "Qwen3 30B A3B")


@pytest.mark.parametrize("value", [None, "gpt2", 3])
def test_an_unknown_family_is_refused_with_the_known_ones(value: object) -> None:
    assert wrong("model_type", value) == f"model_type must be one of {', '.join(FAMILIES)}, got {value!r}"


def test_numbers_are_read_as_a_llama() -> None:
    text = "vocab_size=32000,hidden_size=4096 intermediate_size=11008,num_hidden_layers=32,num_attention_heads=32"
    assert shape_of(read_fields(text), 4096).count == MODELS["Llama 2 7B"][1]
    with pytest.raises(ConfigError, match="hidden_size must be a number, true or false, got '4k'"):
        read_fields("hidden_size=4k")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("num_kv_heads=8", "'num_kv_heads' is no field that is read; num_key_value_heads?"),
        ("hidden_size=8,layers=2", "'layers' is no field that is read"),
        ("hidden_size=8,hidden_size=4", "hidden_size stands there twice"),
        ("hidden_size=" + "9" * 5000, "hidden_size must be a number"),
        ("hidden_size=" + "[" * 100_000, "hidden_size must be a number"),
    ],
)
def test_a_slip_in_what_is_typed_is_named_and_not_passed_over(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        read_fields(text)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_of_the_models_may_be_typed(name: str) -> None:
    fields = MODELS[name][0]
    assert (
        read_fields(
            ",".join(f"{key}={value if key == 'model_type' else json.dumps(value)}" for key, value in fields.items())
        )
        == fields
    )


def test_a_file_or_its_folder_is_read_and_what_is_no_config_is_told(tmp_path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MODELS["Qwen3 8B"][0]))
    assert read_fields(str(path)) == read_fields(str(tmp_path)) == MODELS["Qwen3 8B"][0]
    path.write_text("{")
    with pytest.raises(ConfigError, match="is not JSON: Expecting property name"):
        read_fields(str(path))
    for text in ("[" * 100_000, f'{{"hidden_size": {"9" * 5000}}}'):
        path.write_text(text)
        with pytest.raises(ConfigError, match="is not JSON"):
            read_fields(str(path))
    path.write_text("[1]")
    with pytest.raises(ConfigError, match="must hold a JSON object of fields, got a list"):
        read_fields(str(path))
    with pytest.raises(ConfigError, match=r"nowhere.json cannot be read .*; expected a config.json, or numbers"):
        read_fields("nowhere.json")
