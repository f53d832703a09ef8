"""Machines that lack something: a place to write compiled loops to, PyTorch, a home. What does not
need it works.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import proof
from zoexplore.bounds.conversion import delta_of

ROOT = Path(__file__).parents[1]
BLOCK = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def without(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in {names} else find(name, path, target)
PathFinder.find_spec = classmethod(without)
"""
TRAINING = {"torch", "randomgen", "sklearn"}
# of a few loops
DELTA = "import zoexplore; from zoexplore.bounds.conversion import delta_of\nprint(delta_of(0.05, 1.0))\n"


def run(code, cwd=ROOT, **environment):
    """What the code prints in a new process, as lines."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(cwd), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# That a folder is named where nothing can be written is so of the full disk below, too.
A_FILE = proof({"NUMBA_CACHE_DIR": "/dev/null/nowhere"})


@pytest.mark.parametrize("named", [{}, A_FILE], ids=["unnamed", "a file"])
def test_without_anywhere_to_write_compiled_loops_the_numbers_are_the_same(tmp_path, named):
    """A file stands where the folder for compiled loops would be: not even root can write there."""
    shutil.copytree(
        ROOT / "zoexplore",
        tmp_path / "zoexplore",
        ignore=shutil.ignore_patterns("__pycache__", "views"),
    )
    (tmp_path / "zoexplore/bounds/kernels/__pycache__").write_text("no folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    value, path = run(
        DELTA + "print(zoexplore.__file__)",
        tmp_path,
        HOME="/dev/null",
        TMPDIR=str(temporary),
        **named,
    )
    assert Path(path).is_relative_to(tmp_path)
    assert value == str(delta_of(0.05, 1.0))
    assert not list(temporary.iterdir())  # what was written for the process is gone with it


LIMITED = os.name != "nt"  # Windows cannot limit the length of files
# Files may be made, but stay empty.
FULL = (
    "from resource import *; setrlimit(RLIMIT_FSIZE, (0, getrlimit(RLIMIT_FSIZE)[1]))\n"
    if LIMITED
    else ""
)


@pytest.mark.proof
def test_loops_are_kept_where_there_is_room_until_one_that_they_call_has_changed(tmp_path):
    """On a full disk the numbers are the same, with nothing kept and with all; the next process
    finds nothing broken.
    """
    shutil.copytree(
        ROOT / "zoexplore",
        tmp_path / "zoexplore",
        ignore=shutil.ignore_patterns("__pycache__", "views"),
    )
    given = {"HOME": "/dev/null", "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def kept(kind="*"):
        return {
            path: path.stat().st_mtime_ns
            for path in (tmp_path / "kept").rglob(kind)
            if path.is_file()
        }

    expected = [str(delta_of(0.05, 1.0))]
    if LIMITED:
        assert run(FULL + DELTA, tmp_path, **given) == expected and not kept()
    assert run(DELTA, tmp_path, **given) == expected and kept("*.nbc") and kept("*.nbi")
    before = kept()
    assert run(FULL + DELTA, tmp_path, **given) == expected and kept() == before
    rounding = tmp_path / "zoexplore/bounds/kernels/rounding.py"
    rounding.write_text(rounding.read_text() + "# another\n")
    assert run(DELTA, tmp_path, **given) == expected
    after = kept("*.nbi")
    assert {path.name for path in after} == {
        path.name for path in before if path.suffix == ".nbi"
    } and not set(after) & set(before)


@pytest.mark.skipif(not LIMITED, reason="Windows cannot limit the length of files")
def test_what_others_compile_is_kept_as_numba_keeps_it(tmp_path):
    """Beside their own code, by their own file; and on a full disk numba raises."""
    (tmp_path / "other.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    asked = "import zoexplore, other\nprint(other.double(2), type(other.double._cache._impl.locator).__name__)\n"
    refused = "try: other.double(2.5)\nexcept OSError: print('refused')\n"
    printed = run(
        asked + FULL + refused, HOME="/dev/null", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}"
    )
    assert printed == ["4 InTreeCacheLocator", "refused"]
    assert len(list((tmp_path / "__pycache__").glob("other.double-*.nbc"))) == 1


def test_without_pytorch_the_accountant_and_the_explorer_work():
    code = BLOCK.format(names=TRAINING) + (
        "import sys, zoexplore as z\n"
        "from zoexplore.run.presets import DEMONSTRATION\n"
        "print(z.epsilon(DEMONSTRATION, 'theorem'))\n"
        "page = z.explore(DEMONSTRATION.replace(K=9))\n"
        "root = page.__panel__().get_root()\n"
        "print(page.state.setting.K, len(list(root.references())) > 100)\n"
        "print(sorted({'torch', 'sklearn'} & sys.modules.keys()))\n"
    )
    epsilon, shown, loaded = run(code, HOME=os.path.expanduser("~"))
    assert float(epsilon) > 0 and shown == "9 True" and loaded == "[]"
