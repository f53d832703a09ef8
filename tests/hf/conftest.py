"""No network, one thread."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import gc

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def known():
    """Trainers look for garbage at each start, which takes a tenth of a second where all that
    transformers has loaded is looked through.
    """
    gc.freeze()
