"""Machines that lack something: a place to write compiled loops to, PyTorch, a home. What does not need it works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zoexplore import epsilon
from zoexplore.presets import DEMONSTRATION

ROOT = Path(__file__).parents[1]
BLOCK = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def without(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in {names} else find(name, path, target)
PathFinder.find_spec = classmethod(without)
"""
TRAINING = {"torch", "opacus", "randomgen", "sklearn", "pyarrow"}
COMPOSITION = "import zoexplore as z; from zoexplore.presets import DEMONSTRATION as s; print(z.epsilon(s, 'composition'){})"
DELTA = "from zoexplore.bounds.conversion import delta_of; print(delta_of(0.05, 1.0))"  # of a few loops


def run(code, cwd=ROOT, **environment):
    """What the code prints in a new process, as lines."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(cwd), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# That a folder is named where nothing can be written is so of the full disk below, too.
A_FILE = pytest.param({"NUMBA_CACHE_DIR": "/dev/null/nowhere"}, marks=pytest.mark.proof)


@pytest.mark.parametrize("named", [{}, A_FILE], ids=["unnamed", "a file"])
def test_without_anywhere_to_write_compiled_loops_the_numbers_are_the_same(tmp_path, named):
    """A file stands where the folder for compiled loops would be: not even root can write there."""
    shutil.copytree(ROOT / "zoexplore", tmp_path / "zoexplore", ignore=shutil.ignore_patterns("__pycache__", "views"))
    (tmp_path / "zoexplore/bounds/kernels/__pycache__").write_text("no folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (printed,) = run(COMPOSITION.format(", z.__file__"), tmp_path, HOME="/dev/null", TMPDIR=str(temporary), **named)
    value, path = printed.split()
    assert Path(path).is_relative_to(tmp_path)
    assert value == str(epsilon(DEMONSTRATION, "composition"))
    assert not list(temporary.iterdir())  # what was written for the process is gone with it


# Files may be made, but stay empty.
FULL = "from resource import *; setrlimit(RLIMIT_FSIZE, (0, getrlimit(RLIMIT_FSIZE)[1]))\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the length of files")
def test_on_a_full_disk_the_numbers_are_the_same_and_the_next_process_finds_nothing_broken(tmp_path):
    kept = tmp_path / "kept"
    given = {"HOME": "/dev/null", "NUMBA_CACHE_DIR": str(kept)}
    (full,) = run(FULL + DELTA, **given)
    assert not [path for path in kept.rglob("*") if path.is_file()]
    assert [full] == run(DELTA, **given) == run(FULL + DELTA, **given)
    assert list(kept.rglob("*.nbc")) and list(kept.rglob("*.nbi"))  # in the folder that is named, once there is room


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the length of files")
def test_what_others_compile_is_kept_as_numba_keeps_it(tmp_path):
    """Beside their own code, by their own file; and on a full disk numba raises."""
    (tmp_path / "other.py").write_text("import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n")
    asked = "import zoexplore, other\n{}print(other.double(2), type(other.double._cache._impl.locator).__name__)"
    given = {"HOME": "/dev/null", "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    assert run(asked.format(""), **given) == ["4 InTreeCacheLocator"]
    assert list((tmp_path / "__pycache__").glob("other.double-*.nbc"))
    refused = "try: other.double(2.5)\nexcept OSError: print('refused')\n"
    assert run(asked.format(FULL + refused), **given)[0] == "refused"


def test_without_pytorch_the_accountant_and_the_explorer_work():
    code = BLOCK.format(names=TRAINING) + (
        "import sys, zoexplore as z\n"
        "from zoexplore.presets import DEMONSTRATION\n"
        "print(z.epsilon(DEMONSTRATION, 'theorem'))\n"
        "page = z.explore(DEMONSTRATION.replace(K=9))\n"
        "root = page.__panel__().get_root()\n"
        "print(page.state.setting.K, len(list(root.references())) > 100)\n"
        "print(sorted({'torch', 'opacus', 'sklearn'} & sys.modules.keys()))\n"
    )
    epsilon, shown, loaded = run(code, HOME=os.path.expanduser("~"))
    assert float(epsilon) > 0 and shown == "9 True" and loaded == "[]"


def test_a_loop_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path):
    kernels = tmp_path / "zoexplore/bounds/kernels"
    shutil.copytree(ROOT / "zoexplore", tmp_path / "zoexplore", ignore=shutil.ignore_patterns("__pycache__", "views"))
    given = {"HOME": "/dev/null", "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    before = run(DELTA, tmp_path, **given)
    assert run(DELTA, tmp_path, **given) == before
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.nbi")}
    assert kept
    rounding = kernels / "rounding.py"
    rounding.write_text(rounding.read_text() + "# another\n")
    assert run(DELTA, tmp_path, **given) == before
    assert all(path.stat().st_mtime_ns > kept[path] for path in kept)
