import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Two test files at a time need no more, and small products are faster so."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
