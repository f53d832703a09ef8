#!/bin/sh
# Runs the tests of the accountant, and those of the mechanism if PyTorch has a CPU build, with each of Python 3.12 to 3.14 that
# is found, in an environment of its own.
#   sh tools/versions.sh [pytest's arguments]
set -eu
cd "$(dirname "$0")/.."

# The interpreter of a version: on the path, or pyenv's.
find_python() {
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then echo "$python"; return; fi
    done
}

tested=0
for version in 3.12 3.13 3.14; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then echo "versions: Python $version is not here"; continue; fi
    venv=.venv-$version
    echo "versions: $("$python" --version), in $venv"
    install="$venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt"
    mechanism=tests/mechanism
    CUDA=no VENV=$venv PYTHON=$python sh tools/setup.sh app || { mechanism=; $install -e '.[app]'; echo "versions: without PyTorch"; }
    $install pytest hypothesis mpmath dp-accounting psutil pytest-xdist
    "$venv/bin/python" -m pytest -q -n 2 -m "not proof" -p no:cacheprovider $mechanism \
        @tests/accountant.txt "$@"
    tested=$((tested + 1))
done
[ "$tested" -gt 0 ] || { echo "versions: none of 3.12, 3.13 and 3.14 was found: install one, or with pyenv: pyenv install 3.12" >&2; exit 1; }
