"""Nobody waits for nonsense: a call that computes for more than a second is a failure."""

from time import process_time

PATIENCE = 1.0  # seconds of processor time, so that a busy machine does not count


def within_a_second(call):
    """The call's result; fails where it took longer."""
    start = process_time()
    try:
        return call()
    finally:
        assert process_time() - start < PATIENCE, "took more than a second"
