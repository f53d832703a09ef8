"""A tiny model of random weights for (almost) every class of transformers' tables, made by
shrinking what its default says.
"""

import torch
import transformers
from transformers import CONFIG_MAPPING, PreTrainedConfig

LARGEST = 3_000_000  # parameters: what is larger even so is left out
SIZES = {
    16: "hidden_size d_model n_embd dim emb_dim embed_dim word_embed_proj_dim embedding_size moe_intermediate_size",
    24: "intermediate_size ffn_dim d_inner decoder_ffn_dim encoder_ffn_dim d_ff dff ffn_hidden_size n_inner hidden_dim",
    2: "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers num_attention_heads n_head n_heads num_heads "
    "num_decoder_layers decoder_attention_heads encoder_attention_heads num_experts_per_tok bos_token_id",
    8: "head_dim d_kv d_head kv_channels",
    32: "max_position_embeddings n_positions n_ctx max_seq_len image_size",
    4: "num_experts num_local_experts n_routed_experts moe_num_experts patch_size",
    1: "num_key_value_heads num_kv_heads pad_token_id",
    3: "eos_token_id",
    50: "vocab_size",
}
MORE = {
    "reformer": {"axial_pos_embds_dim": (8, 8), "axial_pos_shape": (4, 8)},
    "t5": {"decoder_start_token_id": 1},
}


def configured(kind):
    """A config that asks for a tiny model."""
    config = CONFIG_MAPPING[kind]()
    _shrink(config)
    for name, value in MORE.get(kind, {}).items():
        setattr(config, name, value)
    if hasattr(config, "is_decoder"):
        config.is_decoder = True
    return config


def built(kind, name):
    """The model in eval(), or None where such a configuration makes none, or a large one."""
    made, config = getattr(transformers, name), configured(kind)
    with torch.device("meta"):
        if sum(p.numel() for p in made(config).parameters()) > LARGEST:
            return None
    torch.manual_seed(0)
    return made(config).eval()


def _shrink(config):
    for size, names in SIZES.items():
        for name in names.split():
            is_derived = name in config.attribute_map or isinstance(
                getattr(type(config), name, 0), property
            )
            if hasattr(config, name) and not is_derived:
                setattr(config, name, size)
    for inner in list(vars(config).values()):
        if isinstance(inner, PreTrainedConfig):
            _shrink(inner)
