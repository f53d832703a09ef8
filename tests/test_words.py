"""One word a thing: names in the package avoid what the table of CONTRIBUTING.md says other words
for.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_OTHERS = {"zoexplore/hf/losses.py": {"config"}}  # transformers' own argument


def instead():
    """The words of the table's last column, each with the one to use."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]*) \|$", table, re.MULTILINE)
    return {
        word: use
        for use, words in rows
        for word in words.split(", ")
        if word.isalpha() and word.islower()
    }


def names_of(tree):
    """Every name that a module gives: of functions, classes, arguments and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_names_use_the_words_of_the_table():
    refused, wrong = instead(), []
    assert refused["sample"] == "record"
    for path in sorted((ROOT / "zoexplore").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for name in set(names_of(ast.parse(path.read_text(encoding="utf-8")))):
            parts = {part.lower() for part in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)}
            wrong += [
                f"{place}: {name}: {refused[word]}"
                for word in parts & refused.keys() - OF_OTHERS.get(place, set())
            ]
    assert not wrong, "\n".join(wrong)
