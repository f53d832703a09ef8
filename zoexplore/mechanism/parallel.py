"""Processes that make the steps of one run together, each on a part of the batch.

They share the seeds of directions and batches, and so draw the same ones. Each process evaluates
its own records, and sends their clipped quotients to all processes. Only the first process draws
the noise along the directions. It also draws a key, from which all processes make the noise in
every coordinate; the key is as secret as that noise. So all processes make the same step that a
single process would make, bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor, distributed

from zoexplore.mechanism.parameters import flat
from zoexplore.mechanism.rng import Sources

GONE = "another process of this run has ended, or does not answer: start all of them again, and go on from a saved state"


class Drifted(RuntimeError):
    """The processes of one run have come to differ."""


class Flawed(RuntimeError):
    """Another process has invalidated the report."""


class Ranks:
    """The processes of a group of `torch.distributed`, or this one alone if the group is None."""

    def __init__(self, group: Any = None) -> None:
        self.group = group
        self.rank, self.size = (
            (0, 1)
            if group is None
            else (distributed.get_rank(group), distributed.get_world_size(group))
        )
        self._shared = True

    def share(self, sources: Sources, tensors: Sequence[Tensor] = ()) -> None:
        """Give all processes the first process's tensors, and its generators except the noise's."""
        if self.size == 1:
            return
        state = self.from_first(lambda: sources.states("directions", "data"))
        with _answering():
            for tensor in tensors:
                distributed.broadcast(flat(tensor).view(torch.uint8), group=self.group, group_src=0)
        sources.restore(state)

    def records(self, b: int, microbatch: int) -> slice:
        """Return this process's part of a batch of b records. It consists of whole microbatches, so
        that each is evaluated as a single process would evaluate it.
        """
        pieces = -(-b // microbatch)
        first, last = (pieces * r // self.size * microbatch for r in (self.rank, self.rank + 1))
        return slice(first, min(last, b))

    def agree(self, what: str, value: Callable[[], object]) -> None:
        """Raise Drifted if `value()` is not the same in all processes. The message names the first
        process that differs.
        """
        if self.size > 1:
            self._compare(what, self._gather(digest(value())))

    def gather(self, header: object, part: Any) -> list[Any]:
        """Collect what every process found, if all are at the same step.

        Raises:
            RuntimeError: a process has failed, or has ended; Flawed if it found a flaw that makes
                the report useless.
            Drifted: a process is at another step.
        """
        self._shared = True
        rows = self._gather((None, digest(header), part))
        if failed := [r for r, (flawed, *_) in enumerate(rows) if flawed is not None]:
            kind = Flawed if any(rows[r][0] for r in failed) else RuntimeError
            raise kind(
                f"process {failed[0]} of this run failed, and no step was made in any; its own error says why"
            )
        self._compare(
            "the step: its records, learning rate or parameters", [at for _, at, _ in rows]
        )
        return [part for _, _, part in rows]

    @contextmanager
    def telling(self, is_flawed: Callable[[], bool]) -> Iterator[None]:
        """Tell the other processes of a failure before `gather`, since they wait for an answer."""
        self._shared = False
        try:
            yield
        except BaseException:
            if self.size > 1 and not self._shared:
                self._gather((is_flawed(), 0, None))
            raise

    def from_first(self, own: Callable[[], Any]) -> Any:
        """Return, in every process, what `own` returns in the first."""
        sent = [own() if self.rank == 0 else None]
        if self.size > 1:
            with _answering():
                distributed.broadcast_object_list(sent, group=self.group, group_src=0)
        return sent[0]

    def _gather(self, own: Any) -> list[Any]:
        parts = [None] * self.size
        with _answering():
            distributed.all_gather_object(parts, own, group=self.group)
        return parts

    def _compare(self, what: str, found: list[int]) -> None:
        if other := [r for r, x in enumerate(found) if x != found[0]]:
            raise Drifted(
                f"process {other[0]} of this run has drifted from process 0, in {what}: nothing of it is to be used"
            )


def digest(value: object) -> int:
    """Compute a 63-bit digest of a value's text."""
    return int.from_bytes(blake2b(repr(value).encode(), digest_size=8).digest()) >> 1


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(f"{GONE} ({str(error).splitlines()[0]})") from error
