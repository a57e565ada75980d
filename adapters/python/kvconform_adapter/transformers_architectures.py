"""Tiny random models of every architecture of transformers, made from its own configs.

Nothing is downloaded: a config's defaults say what belongs to the architecture, and what only makes it large is
replaced by the small numbers below. They are chosen so that they fit each other (heads times their size is the width,
an expert is chosen among several) and so that short sequences reach every edge: windows, chunks and kernels of four.
"""

from __future__ import annotations

import ast
import copy
import importlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kvconform_adapter.request import RequestError

WORDS = 64
"""Size of the vocabulary."""
FIRST_WORD = 3
"""Below it are the words for padding, begin and end."""
WINDOW = 4
SEED = 20_260_101

CAUSAL = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"
SEQUENCE_TO_SEQUENCE = "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"

SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "lru_width"), 32),
    **dict.fromkeys(("n_inner", "intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), 32),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size"), 16),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "multi_query_group_num"), 2),
    **dict.fromkeys(("head_dim", "d_kv", "v_head_dim", "qk_rope_head_dim", "qk_nope_head_dim"), 8),
    **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size", "vocab_size_per_layer_input"), WORDS),
    **dict.fromkeys(("n_positions", "max_position_embeddings", "n_ctx", "max_seq_len"), 512),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k"), 2),
    **dict.fromkeys(("sliding_window", "attention_window", "window_size", "local_window"), WINDOW),
    **dict.fromkeys(("chunk_size", "attention_chunk_size", "mamba_chunk_size"), WINDOW),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_head_dim", "index_head_dim"), 16),
    **dict.fromkeys(("mamba_d_state", "ssm_state_size", "state_size", "mamba_d_head", "mamba_head_dim"), 8),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads"), 8),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 8),
    **dict.fromkeys(("n_group", "topk_group", "mamba_n_groups", "n_groups", "first_k_dense_replace"), 1),
    **dict.fromkeys(("index_topk", "linear_num_value_heads", "mamba_d_conv", "time_step_rank", "rotary_dim"), 4),
    **dict.fromkeys(("index_n_heads", "linear_num_key_heads", "mamba_expand", "n_mamba_heads", "altup_num_inputs"), 2),
    **dict.fromkeys(("hidden_size_per_layer_input", "laurel_rank", "rank"), 8),
    "num_nextn_predict_layers": 0,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
DEPTHS = frozenset(
    {"num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers"}
    | {"num_decoder_layers", "num_encoder_layers"}
)
LAYERS = 2
WEIGHTS_MAX = 1 << 23
MODELS_MAX = 4
"""Models that are kept: plans of one architecture share them, and those of an earlier one are not needed again."""
OWN: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"n_group": 2, "topk_group": 1},
    "bamba": {"attn_layer_indices": [1]},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "dory": {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "num_hidden_layers": 3}
    | dict.fromkeys(("n_input_layers", "n_recurrent_layers", "n_output_layers"), 1),
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "dots3_note_text": {"head_dim": 16, "per_layer_config": {}, "shared_experts_intermediate_size": 16},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_d_head": 8},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "kimi_linear": {"n_group": 1, "topk_group": 1, "linear_head_dim": 8, "linear_num_heads": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "longcat_flash": {"ffn_hidden_size": 32, "expert_ffn_hidden_size": 16, "zero_expert_num": 2},
    "mamba2": {"num_heads": 8},
    "qwen4_exp_text": {
        "hc_lowrank": 8,
        "heads_per_ngram": 2,
        "indexer_budget": WINDOW,
        "indexer_compress_ratio": 2,
        "indexer_head_dim": 8,
        "indexer_kv_heads": 1,
        "indexer_n_heads": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "make_ngram_vocab_size_divisible_by": 8,
        "ngram_vocab_size_base": WORDS,
        "ple_embed_dim": 8,
        "ple_layer_ids": [1],
        "split_ngram_parts": 1,
    },
    "recurrent_gemma": {"num_hidden_layers": 3},
    "roc_bert": {
        "pronunciation_vocab_size": 16,
        "shape_vocab_size": 16,
        "pronunciation_embed_dim": 8,
        "shape_embed_dim": 8,
    },
    "xlm": {"n_words": WORDS, "emb_dim": 32},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "layers_block_type": ["mamba", "hybrid", "hybrid"],
        "num_hidden_layers": 3,
        "use_mamba_kernels": False,
    },
    "zamba2": {"num_hidden_layers": 2, "layers_block_type": ["mamba", "hybrid"]},
    "zaya": {"num_experts_per_tok": 1},
}
"""What single architectures need besides, most of it so that two layers are one of each kind."""
MAY_BE_UNSET = frozenset({"head_dim", "num_key_value_heads", "pad_token_id", "bos_token_id", "eos_token_id"})
"""Sizes that many configs leave open and their models need."""


@cache
def architectures(package: str) -> dict[str, str]:
    """For each architecture of the package in this folder, in order, its class that predicts the next word.

    The library's own registry is read from its file: importing it takes as long as a model.
    """
    found: dict[str, str] = {}
    tree = ast.parse((Path(package) / "models" / "auto" / "modeling_auto.py").read_text("utf-8"))
    for statement in tree.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Call):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if names & {CAUSAL, SEQUENCE_TO_SEQUENCE} and statement.value.args:
            for name, owner in ast.literal_eval(statement.value.args[0]):
                # A few have several classes; the first is the plain one.
                found.setdefault(name, owner if isinstance(owner, str) else owner[0])
    return dict(sorted(found.items()))


def shrink(config: Any) -> dict[str, Any]:
    """What a config of the same class is told to become tiny."""
    told = config.to_dict()
    small: dict[str, Any] = {}
    for name, value in told.items():
        if name in DEPTHS and isinstance(value, int):
            small[name] = LAYERS
        elif name in SIZES and ((type(value) is int) or (value is None and name in MAY_BE_UNSET)):
            small[name] = SIZES[name]
    if "kv_lora_rank" in small and "num_key_value_heads" in small:
        # Keys and values are made from one latent vector, for as many heads as there are queries.
        small["num_key_value_heads"] = small.get("num_attention_heads", 4)
    kinds = told.get("layer_types")
    if isinstance(kinds, list) and kinds:
        # One layer of each kind, in the order in which they come.
        once = list(dict.fromkeys(kinds))
        small["layer_types"] = once if len(once) > 1 else once * LAYERS
        small |= {name: len(small["layer_types"]) for name in DEPTHS & small.keys()}
    for name in getattr(config, "sub_configs", {}):
        inner = getattr(config, name, None)
        if inner is not None and hasattr(inner, "to_dict"):
            small[name] = {"model_type": inner.model_type} | shrink(inner) | OWN.get(inner.model_type, {})
    return small


def choose_plain_experts(config: Any) -> None:
    """Experts by plain matrix products: the fast ones do not take float64."""
    config._experts_implementation = "eager"
    for name in getattr(config, "sub_configs", {}):
        inner = getattr(config, name, None)
        if inner is not None and hasattr(inner, "to_dict"):
            choose_plain_experts(inner)


def config_class(name: str) -> Any:
    """The class of an architecture's config."""
    return importlib.import_module("transformers").CONFIG_MAPPING[name]


def make_told(name: str) -> dict[str, Any]:
    """What the config of an architecture is told."""
    return shrink(config_class(name)()) | OWN.get(name, {})


def make_config(name: str) -> Any:
    """The tiny config of an architecture."""
    config = config_class(name)(**make_told(name))
    if hasattr(config, "is_decoder") and not config.is_encoder_decoder:
        # Some architectures are encoders by default, and keep no cache then.
        config.is_decoder = True
    choose_plain_experts(config)
    return config


def own_config(config: Any, owner: Any) -> Any:
    """The part of a config that a class takes: of some architectures only the text has one that predicts words."""
    if isinstance(config, owner.config_class):
        return config
    inner = config.get_text_config(decoder=True)
    return inner if isinstance(inner, owner.config_class) else config


def check_size(owner: Any, config: Any) -> None:
    """RequestError where a model of this config is not tiny: its weights are counted before any is made."""
    import torch  # noqa: PLC0415

    with torch.device("meta"):
        weights = sum(weight.numel() for weight in owner(copy.deepcopy(config)).parameters())
    if weights > WEIGHTS_MAX:
        raise RequestError(f"its config cannot be made small enough: {weights:,} weights, at most {WEIGHTS_MAX:,}")


@lru_cache(maxsize=MODELS_MAX)
def make_model(name: str, package: str, attention: str, seed: int = SEED) -> Any:
    """A tiny model with seeded random weights, in float64; RequestError, in one line, where that cannot be done.

    Where the architecture has no such attention it has the plain one.
    """
    import torch  # noqa: PLC0415

    transformers = importlib.import_module("transformers")
    try:
        owner = getattr(transformers, architectures(package)[name])
        config = own_config(make_config(name), owner)
        if attention == "sdpa" and not getattr(owner, "_supports_sdpa", False):
            attention = "eager"
        config._attn_implementation = attention
        check_size(owner, config)
        torch.manual_seed(seed)
        return owner._from_config(config).to(torch.float64).eval()
    except (MemoryError, RequestError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise RequestError(f"no tiny {name} can be made from its config: {type(error).__name__}: {text}") from error
