"""Models of random weights with some thousand parameters, records of different lengths, and
trainers of both.
"""

import torch
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    LlamaConfig,
    MixtralConfig,
    RobertaConfig,
)

from zoexplore.hf import ZOTrainer, ZOTrainingArguments
from zoexplore.mechanism import Sources

VOCABULARY, N = 40, 24
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
}
SIZES |= {"num_attention_heads": 2, "max_position_embeddings": 24, "pad_token_id": 1}


def llama(**options):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(
        LlamaConfig(**SIZES | {"num_key_value_heads": 1} | options)
    )


def roberta(**options):
    torch.manual_seed(0)
    return AutoModelForSequenceClassification.from_config(RobertaConfig(**SIZES | options))


def mixtral(**options):
    torch.manual_seed(0)
    sizes = SIZES | {"num_key_value_heads": 1, "num_local_experts": 4, "num_experts_per_tok": 2}
    return AutoModelForCausalLM.from_config(MixtralConfig(**sizes | options))


def texts(n=N, classes=2):
    """Sentences of 3 to 12 tokens, of the lower half of the vocabulary in one class, of the upper
    in the other.
    """
    draw = torch.Generator().manual_seed(3)
    labels = torch.arange(n) % classes
    lengths = torch.randint(3, 13, (n,), generator=draw)
    half = (VOCABULARY - 2) // 2
    draws = [torch.randint(half, (int(s),), generator=draw) + 2 for s in lengths]
    ids = [(x + half * int(c)).tolist() for x, c in zip(draws, labels, strict=True)]
    return Dataset.from_dict({"input_ids": ids, "labels": labels.tolist(), "text": ["secret"] * n})


def pad(records, side="right"):
    """What tokenizers' collators do, for inputs and, in a causal model, labels."""
    longest = max(len(r["input_ids"]) for r in records)

    def padded(row, by):
        fill = [by] * (longest - len(row))
        return row + fill if side == "right" else fill + row

    batch = {
        "input_ids": torch.tensor([padded(r["input_ids"], 1) for r in records]),
        "attention_mask": torch.tensor([padded([1] * len(r["input_ids"]), 0) for r in records]),
    }
    if "labels" in records[0]:
        return batch | {"labels": torch.tensor([r["labels"] for r in records])}
    return batch | {"labels": torch.tensor([padded(r["input_ids"], -100) for r in records])}


def arguments(folder, **options):
    usual = {
        "epsilon": 4.0,
        "delta": 1e-4,
        "K": 2,
        "clip": 1.0,
        "learning_rate": 1.0,
        "max_steps": 4,
        "logging_steps": 2,
    }
    usual |= {
        "per_device_train_batch_size": 8,
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
    }
    return ZOTrainingArguments(str(folder), **usual | options)


def trainer(
    folder,
    model,
    dataset=None,
    *,
    sources=None,
    collator=pad,
    given=None,
    seeds=(1, 2),
    mechanism=None,
    **options,
):
    dataset = texts() if dataset is None else dataset
    chosen = {"sources": sources or Sources(*seeds)} | (mechanism or {})
    return ZOTrainer(
        model,
        arguments(folder, **options),
        train_dataset=dataset,
        data_collator=collator,
        options=chosen,
        **given or {},
    )


def weights(model):
    return torch.cat(
        [p.detach().reshape(-1) for p in model.parameters() if p.requires_grad]
    ).clone()
