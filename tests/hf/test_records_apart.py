"""Transformers' own layers keep records apart to the last bit, and what routers add to a loss is
found.
"""

import pytest
import torch
import torch.nn.functional as F

from tests.hf.tiny import llama, mixtral, pad, roberta, texts
from zoexplore import Setting
from zoexplore.hf.losses import causal_lm_loss, classification_loss
from zoexplore.mechanism import NoisyZOGD, Sources

MODELS = {
    "RoBERTa": (roberta, classification_loss),
    "Llama": (llama, causal_lm_loss),
    "Mixtral": (mixtral, causal_lm_loss),
}
KINDS = (torch.float32, torch.bfloat16)


def with_router(model, batch):
    """As Mixtral's own loss: its routers' is one of all tokens of a batch, at a thousandth."""
    outputs = model(**batch)
    each = F.cross_entropy(
        outputs.logits[:, :-1].float().transpose(1, 2), batch["labels"][:, 1:], reduction="none"
    )
    return each.sum(1) + model.config.router_aux_loss_coef * outputs.aux_loss


def looked_at(model, loss, kind, padded):
    rows = [
        row
        for row in texts(12).select_columns(["input_ids", "labels"])
        if padded or len(row["input_ids"]) > 4
    ]
    rows = rows if padded else [row | {"input_ids": row["input_ids"][:5]} for row in rows]
    batch = pad(
        [row if loss is classification_loss else {"input_ids": row["input_ids"]} for row in rows]
    )
    model = model.to(kind).eval()
    d, n = sum(p.numel() for p in model.parameters()), len(rows)
    setting = Setting(n=n, d=d, K=1, T=2, sigma=0.1, beta=1.0, clip=1.0, eta=1.0, xi=4e-3 * d**0.5)
    made = NoisyZOGD(model, loss, setting, sources=Sources(1, 2), loss_of="model")
    made.step(made.batch(batch))
    return made


@pytest.mark.parametrize("padded", [False, True], ids=["equally long", "padded"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("make, loss", MODELS.values(), ids=MODELS)
def test_no_bit_of_a_loss_depends_on_other_records(make, loss, kind, padded):
    assert looked_at(make(), loss, kind, padded).record.checked == 1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_routers_loss_at_its_default_of_a_thousandth_is_found(kind):
    with pytest.raises(
        ValueError, match="beside other records: a loss must depend on its own record alone"
    ):
        looked_at(mixtral(output_router_logits=True), with_router, kind, padded=True)
