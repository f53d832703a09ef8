#!/bin/sh
# Makes .venv with the pinned stack and this project in it. `make app` and `make test` call it; running it twice is harmless.
set -eu
cd "$(dirname "$0")/.."
log=.venv/setup.log
pip=".venv/bin/python -m pip --disable-pip-version-check --no-input"

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# Run a step silently; show the end of what it said only if it fails.
quietly() {
    if ! "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        fail "that step failed; the whole of its output is in $log"
    fi
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# 3.11 comes first because constraints.txt was made with it.
find_python() {
    for python in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
        if [ -n "$python" ] && new_enough "$python"; then echo "$python"; return; fi
    done
    found=$(python3 --version 2>/dev/null || echo "no python3")
    fail "Python 3.11 or newer is needed and $found was found. Install one (python.org, or your system's packages), or name it: make PYTHON=/path/to/python3.11"
}

torch_needs_cuda() {
    $pip install --dry-run --quiet --report - torch==2.13.0 2>"$log" | grep -Eq '"name": "(nvidia|cuda)-'
}

# --no-deps throughout: what torch needs comes with the rest, pinned and from the usual place.
install_torch() {
    if $pip show torch 2>/dev/null | grep -q '^Version: 2\.13\.0'; then return; fi
    if ! torch_needs_cuda; then
        say "installing torch 2.13.0 (a CPU build, about 200 MB)"
    else
        # The usual build brings gigabytes of CUDA that nothing here uses; PyTorch documents this index for the CPU build.
        say "installing torch 2.13.0 (the CPU build, from PyTorch's own index, about 200 MB)"
        cpu_index=https://download.pytorch.org/whl/cpu
        if $pip install --no-deps --index-url "$cpu_index" torch==2.13.0 >"$log" 2>&1; then return; fi
        say "PyTorch's CPU index did not answer: INSTALLING THE CUDA BUILD INSTEAD, SEVERAL GIGABYTES"
    fi
    quietly $pip install --no-deps torch==2.13.0
}

if ! new_enough .venv/bin/python; then
    python=$(find_python)
    say "creating .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv || fail "$python cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)"
fi
install_torch
say "installing the pinned packages and zoexplore itself (the first time takes a few minutes)"
quietly $pip install -c constraints.txt -e '.[all]'
say "ready"
