"""One thread: the problems are small, and sums in another order would not be bitwise the same."""

import torch

torch.set_num_threads(1)
