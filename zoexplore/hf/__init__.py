"""Fine-tunes models of `transformers` by Noisy-ZOGD: a `Trainer` that meets a target ε and takes no
gradients.
"""

from zoexplore.hf.arguments import ZOTrainingArguments
from zoexplore.hf.losses import causal_lm_loss, classification_loss, span_loss, token_loss
from zoexplore.hf.trainer import ZOTrainer

__all__ = [
    "ZOTrainer",
    "ZOTrainingArguments",
    "causal_lm_loss",
    "classification_loss",
    "span_loss",
    "token_loss",
]
