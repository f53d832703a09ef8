"""Kernels run without being compiled, so that they can be debugged and measured."""

import os
import subprocess
import sys

from zoexplore import Accounting, Setting, guarantee

EVERY_KIND = """
def found():
    curved = dict(regime="strongly-convex", M=1.0, m=0.5, ridge=0.5)
    run = Setting(n=200, d=6, K=2, T=3, sigma=0.2, beta=0.5, R=1.0, lipschitz=None, **curved)
    runs = [(run, bound) for bound in ("composition", "output-perturbation", "theorem", "sharp", "noisy-gd")]
    runs += [(run.replace(batch=100, sampling=sampling), "sharp") for sampling in ("without-replacement", "cyclic")]
    return [guarantee(run, bound, Accounting("cks")).epsilon for run, bound in runs]
"""
PLAIN = f"from zoexplore import Accounting, Setting, guarantee\n{EVERY_KIND}\nprint(*found())"


def test_a_bound_of_each_kind_is_the_same_without_compilation():
    names = {"Accounting": Accounting, "Setting": Setting, "guarantee": guarantee}
    exec(EVERY_KIND, names)
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, timeout=600
    )
    assert not plain.returncode, plain.stderr
    for ours, theirs in zip(names["found"](), map(float, plain.stdout.split()), strict=True):
        assert 0 < ours < 1000 and abs(ours / theirs - 1) < 1e-9
