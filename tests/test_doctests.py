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


@pytest.fixture(params=MODULES)
def module(request):
    return importlib.import_module(f"zoexplore.{request.param}")


def test_the_examples_give_what_they_say(module):
    found = doctest.testmod(module, report=False)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_public_function_has_an_example(module):
    functions = [
        f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")
    ]
    own = [f for f in functions if f.__module__ == module.__name__ and f.__name__ != "shown"]
    without = {f.__name__ for f in own if ">>>" not in (f.__doc__ or "")}
    assert not without
