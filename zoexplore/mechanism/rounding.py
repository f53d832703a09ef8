"""Refuses settings of torch that round losses more coarsely than their own dtype: autocast, and
products in TF32 or bfloat16.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd

COARSE = ("tf32", "bf16")
# the layers whose products have a precision setting of their own, by torch's name for the setting
PRODUCTS = {"conv": _ConvNd, "rnn": nn.RNNBase}


def check_rounding(device: torch.device, module: nn.Module) -> None:
    """Raise RuntimeError under autocast, or if products are coarse, since either would round small
    differences of losses away.
    """
    if torch.is_autocast_enabled(device.type):
        raise RuntimeError(
            "a step under autocast is not allowed: load the model in half precision, model.to(torch.bfloat16), or switch "
            "autocast on inside the module's forward()"
        )
    if coarse := coarse_products(device, module):
        name, kind = coarse
        raise RuntimeError(
            f"a step with products in {kind} is not allowed (torch.backends: {name}.fp32_precision): set it to 'ieee', call "
            "torch.set_float32_matmul_precision('highest'), or load the model in half precision"
        )


def coarse_products(device: torch.device, module: nn.Module) -> tuple[str, str] | None:
    """Return (name, kind) for the first kind of product in a module that torch would compute more
    coarsely than in single precision: its name, and the dtype used. Return None if there is none.
    """
    on_cpu = device.type == "cpu"
    own: Any = torch.backends.mkldnn if on_cpu else torch.backends.cudnn
    products = {"matmul": (own if on_cpu else torch.backends.cuda).matmul}
    products |= {name: getattr(own, name) for name in PRODUCTS}
    kinds = {name: product.fp32_precision for name, product in products.items()}
    coarse = {name: kind for name, kind in kinds.items() if kind in COARSE}
    # usually nothing is coarse, and a walk through a model's parts takes as long as an operation
    if not coarse or all(p.dtype != torch.float32 for p in module.parameters()):
        return None
    used = {
        kind for part in module.modules() for kind in PRODUCTS if isinstance(part, PRODUCTS[kind])
    }
    return next(((name, coarse[name]) for name in coarse if name in {"matmul", *used}), None)
