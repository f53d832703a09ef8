"""Other libraries stay as they are: importing changes nothing of theirs, and their private names
that we read are listed.

The list is `READ`. Whoever has to read another one adds it there, with a test that fails where the
name is something else.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.effort import proof

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zoexplore"
PUBLIC = {"os._exit"}  # documented, for all its underscore
READ = {  # by file and name
    ("bounds/kernel_cache.py", "_locator_classes"),
    ("mechanism/checksums.py", "_pytree"),
    ("mechanism/losses.py", "_global_forward_pre_hooks"),
    ("mechanism/losses.py", "_global_forward_hooks"),
    ("mechanism/losses.py", "_forward_pre_hooks"),
    ("mechanism/losses.py", "_forward_hooks"),
    ("server/serving.py", "_tornado"),
    ("server/websocket.py", "_token"),
    ("views/component.py", "_comm"),
    ("views/component.py", "_update"),
    ("views/component.py", "_get_model"),
}
OF_TUPLES = {"_asdict", "_fields", "_replace"}  # documented, of every named tuple


@cache
def trees():
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def own_names():
    """Every private name that is defined in the package."""
    found = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.Name(id=name)
                ):
                    found.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self" | "cls")):
                    found.add(name)
    return found


def foreign():
    """Attributes with one underscore that the package does not define, or that are listed: file,
    name, whether it is written, or something in it.
    """
    for file, tree in trees().items():
        parts = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript))
        held = {id(node.value) for node in parts if not isinstance(node.ctx, ast.Load)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                listed = (file, node.attr) in READ
                if (listed or node.attr not in own_names() | OF_TUPLES) and ast.unparse(
                    node
                ) not in PUBLIC:
                    yield file, node.attr, id(node) in held or not isinstance(node.ctx, ast.Load)


def test_every_private_name_of_another_library_is_listed():
    assert {(file, name) for file, name, _ in foreign()} <= READ


def test_no_private_name_of_another_library_is_written():
    ours = {("views/component.py", "_comm")}  # of a subclass of ours
    assert {(file, name) for file, name, written in foreign() if written} <= ours


CHANGES = """
import gc
gc.disable()  # which would look through all imports again and again
import importlib, pathlib, sys, types
import bokeh.plotting, bokeh.server.server, holoviews, numba, numba.core.caching, numpy, panel, param, pyviz_comms
import panel.io.notebook
WITH_TORCH = len(sys.argv) > 1
if WITH_TORCH:
    import torch._dynamo, transformers  # which change torch and each other by themselves
holoviews.extension("bokeh")
panel.extension()
TRAIN = "mechanism", "training", "hf"
LIBRARIES = {"bokeh", "holoviews", "numba", "numpy", "panel", "param", "pyviz_comms", "torch"}
CODE = (types.FunctionType, type, staticmethod, classmethod, property)

def defined():
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in LIBRARIES and isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                if isinstance(value, CODE):
                    yield (name, key), value
                if isinstance(value, type) and value.__module__ == name:
                    for inner, held in list(vars(value).items()):
                        if isinstance(held, CODE):
                            yield (name, key, inner), held

before = dict(defined())
import zoexplore
root = pathlib.Path(zoexplore.__file__).parent
for path in sorted(root.rglob("*.py")):
    room, name = path.relative_to(root).parts[0], ".".join(path.relative_to(root.parent).with_suffix("").parts)
    if not name.endswith("__main__") and (WITH_TORCH or room not in TRAIN):
        importlib.import_module(name.removesuffix(".__init__"))
zoexplore.explore()._repr_mimebundle_()
after = dict(defined())
print(len(before) > 10_000, sorted(key for key, value in before.items() if after.get(key) is not value))
"""


@pytest.mark.parametrize("more", [[], proof(["torch"], id="torch")])  # which takes twice as long
def test_importing_and_showing_everything_changes_no_other_library(more):
    done = subprocess.run(
        [sys.executable, "-c", CHANGES, *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1:] == ["True []"], done.stdout + done.stderr[-2000:]
