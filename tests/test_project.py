"""pyproject.toml, constraints.txt and environment.yml say the same, and the accountant stays light
to import.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FILES = ["pyproject.toml", "constraints.txt", "environment.yml"]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]

CONDA_NAMES = {"pytorch-cpu": "torch"}


def declared():
    """Every requirement of pyproject.toml, of extras and groups too, but for those by which an
    extra has another one in it.
    """
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values(), *GROUPS.values()]
    requirements = [
        Requirement(line) for group in groups for line in group if isinstance(line, str)
    ]
    return [requirement for requirement in requirements if requirement.name != "zoexplore"]


def pins(lines, separator):
    """The versions in lines such as "name==1.2", by normalised name."""
    split = (line.split(separator) for line in lines)
    return {canonicalize_name(CONDA_NAMES.get(name, name)): version for name, version in split}


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return pins([line for line in lines if not line.startswith("#")], "==")


def conda_environment():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (from_pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    from_conda = [entry for entry in entries if isinstance(entry, str) and "=" in entry]
    environment = pins(from_conda, "=") | pins([line for line in from_pip if "==" in line], "==")
    return environment.pop("python"), environment


@pytest.mark.parametrize("requirement", declared(), ids=lambda requirement: requirement.name)
def test_every_requirement_is_pinned_within_its_range(requirement):
    assert requirement.specifier.contains(constraints()[canonicalize_name(requirement.name)])


def test_the_extra_named_all_has_every_other_extra():
    extras = PROJECT["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == extras.keys() - {"all"}


def test_the_group_named_dev_has_every_other_group():
    assert {entry["include-group"] for entry in GROUPS["dev"]} == GROUPS.keys() - {"dev"}


def test_constraints_are_exact_public_versions():
    for name, version in constraints().items():
        assert Version(version).public == version, name


def test_conda_environment_names_the_same_packages_and_versions():
    python, environment = conda_environment()
    pinned = constraints()
    assert environment == {
        canonicalize_name(r.name): pinned[canonicalize_name(r.name)] for r in declared()
    }
    assert PROJECT["requires-python"] == f">={python}"


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_a_package_index(name):
    text = re.sub(r"\[project\.urls\](\n.+)*", "", (ROOT / name).read_text())
    assert not re.search(r"https?://|--?(extra-)?index|find-links|file:", text)


def test_the_container_is_given_all_that_the_wheel_is_made_of():
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], *PROJECT["license-files"]}
    needed |= {"pyproject.toml", "hatch_build.py", "README.md"}
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert needed <= {name for line in copied for name in line.split()}


def test_the_container_has_the_page_and_not_the_accountant_alone():
    assert re.search(r"pip install .* '\.\[app\]'", (ROOT / "Containerfile").read_text())


def test_importing_the_accountant_loads_neither_torch_nor_the_page():
    heavy = {"torch", "panel", "bokeh", "holoviews", "sklearn"}
    code = f"import sys, zoexplore; print(*sorted({heavy} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


@pytest.mark.parametrize("lint", [0, 2])
def test_what_runs_before_a_merge_lints_and_then_tests(lint, tmp_path):
    """With a `make` that only notes what it was asked for: nothing is tested where linting fails."""
    asked = tmp_path / "asked"
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$@" >>{asked}\ntest "$1" != lint || exit {lint}\n')
    make.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, timeout=60)
    assert done.returncode == lint
    assert asked.read_text().split() == (["lint"] if lint else ["lint", "test"])


def test_the_version_of_torch_stands_in_one_place_beside_the_pins_that_are_compared():
    version = constraints()["torch"]
    kept = [
        ROOT / "tools" / "setup.sh",
        ROOT / "Makefile",
        ROOT / "Containerfile",
        *(ROOT / "tools").glob("*.sh"),
    ]
    assert not [path for path in kept if version in path.read_text()]


def imported(folder):
    """The packages that modules import by name, at the top or within."""
    lines = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    return set(re.findall(r"^\s*(?:from|import) ([a-z_0-9]+)[. ]", lines, re.M))


def test_what_the_server_and_the_page_import_is_declared():
    names = {canonicalize_name(requirement.name) for requirement in declared()}
    ours = imported(ROOT / "zoexplore" / "server") | imported(ROOT / "zoexplore" / "views")
    known = {"markdown-it": "markdown-it-py", "mdit-py-plugins": "mdit-py-plugins"}
    others = {
        canonicalize_name(name) for name in ours - set(sys.stdlib_module_names) - {"zoexplore"}
    }
    assert {known.get(name, name) for name in others} <= names


def test_names_of_tests_are_short_enough_to_be_read():
    named = (
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    )
    assert [name for name in named if len(name) >= 80] == []
