"""The examples in the docstrings of public functions give what they say, and every public function
has one.
"""

import doctest
import importlib
import inspect

import pytest

MODULES = [
    "run.setting",
    "bounds.guarantee",
    "bounds.conversion",
    "questions.calibration",
    "questions.recommendation",
    "questions.export",
    "questions.statement",
]


@pytest.mark.parametrize("name", [*MODULES, "bounds.epsilons", "bounds.lower", "run.refusals"])
def test_the_examples_give_what_they_say(name):
    found = doctest.testmod(importlib.import_module(f"zoexplore.{name}"), report=False)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(f"zoexplore.{name}")
    functions = [
        f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")
    ]
    own = [f for f in functions if f.__module__ == module.__name__ and f.__name__ != "shown"]
    without = {f.__name__ for f in own if ">>>" not in (f.__doc__ or "")}
    assert not without
