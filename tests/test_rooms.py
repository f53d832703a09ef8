"""The package's rooms import one another in one direction only."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "zoexplore"
ROOMS = (
    "run bounds questions compute mechanism training hf palette methods plots views server".split()
)


def imported(source):
    """The modules of the package that a file imports, wherever in it, with the lines; those that it
    names in a string, too, which may be imported later.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "zoexplore":
            names = (
                [node.module]
                if node.module != "zoexplore"
                else [f"zoexplore.{name.name}" for name in node.names]
            )
            yield from ((name, node.lineno) for name in names)
        elif isinstance(node, ast.Import):
            yield from (
                (name.name, node.lineno)
                for name in node.names
                if name.name.startswith("zoexplore.")
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            whole = re.fullmatch(r"zoexplore\.[\w.]+", node.value)
            yield from (
                (name, node.lineno)
                for name in (
                    [whole[0]]
                    if whole
                    else re.findall(r"(?:from|import) (zoexplore\.[\w.]+)", node.value)
                )
            )


def test_no_room_imports_one_that_stands_above_it():
    upward = []
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for name, line in imported(path.read_text(encoding="utf-8")) if room in ROOMS else ():
            target = name.split(".")[1]
            if target in ROOMS and ROOMS.index(target) > ROOMS.index(room):
                upward.append(f"{path}:{line} imports {name}")
    assert not upward


def test_every_room_stands_in_the_order():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= set(ROOMS)
