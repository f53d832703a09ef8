"""Every kernel, called once: the accountant's as at set-up, and the mechanism's. As a script, ahead
of processes that would each compile them.
"""

from zoexplore.compute.prepare import compositions, hidden_states, main, the_rest


def call_all():
    """Have whatever the accountant compiles compiled, or loaded into this process."""
    for part in (hidden_states, compositions, the_rest):
        for call in part():
            call()


def _steps():
    """The mechanism's: sums of numbers of every size."""
    import torch

    from zoexplore.mechanism.checksums import checksums, of_records

    kinds = torch.uint8, torch.float16, torch.float32, torch.float64
    numbers = [torch.ones(4, 3, dtype=kind) for kind in kinds]
    assert len(checksums(numbers)) == len(of_records(numbers, 4))


if __name__ == "__main__":
    main()
    _steps()
