"""Kernels run without being compiled, so that they can be debugged and measured."""

import os
import subprocess
import sys

from zoexplore import BOUNDS

EVERY_KIND = """
from zoexplore import BOUNDS, Accounting, Setting, guarantee
run = Setting(
    n=200, d=6, K=2, T=3, sigma=0.2, beta=0.5, regime="strongly-convex", M=1.0, m=0.5, ridge=0.5, R=1.0, lipschitz=None
)
for bound in BOUNDS:
    print(bound, guarantee(run, bound, Accounting("cks")).epsilon)
for sampling in ("without-replacement", "cyclic"):
    print("sharp", guarantee(run.replace(batch=100, sampling=sampling), "sharp", Accounting("cks")).epsilon)
"""


def said(**environment):
    command = [sys.executable, "-c", EVERY_KIND]
    found = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=600)
    assert not found.returncode, found.stderr
    return [line.split() for line in found.stdout.splitlines()]


def test_a_bound_of_each_kind_is_the_same_without_compilation():
    compiled, plain = said(), said(NUMBA_DISABLE_JIT="1")
    assert [name for name, _ in plain] == [name for name, _ in compiled] == [*BOUNDS, "sharp", "sharp"]
    for (name, ours), (_, theirs) in zip(plain, compiled, strict=True):
        assert ours == theirs == "inf" or abs(float(ours) / float(theirs) - 1) < 1e-9, name
