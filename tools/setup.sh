#!/bin/sh
# Makes .venv, or $VENV, with the pinned stack and this project in it; running it twice is harmless.
#   sh tools/setup.sh app     what the page needs, training included: what `make app` calls
#   sh tools/setup.sh         that, and what notebooks, tests and the site need
# uv installs the packages where it is found; UV=no leaves it out.
set -eu
cd "$(dirname "$0")/.."
what=${1:-all}
venv=${VENV:-.venv}
log=$venv/setup.log
pip="$venv/bin/python -m pip --disable-pip-version-check --no-input"
torch=$(sed -n 's/^torch==//p' constraints.txt)

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# Run a step silently; show the end of its output only if it fails.
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

# uv does not read pip's configuration. It is given pip's folders of wheels below; if pip has another index, pip installs.
find_uv() {
    if [ "${UV:-}" = no ]; then return; fi
    if [ -n "${PIP_INDEX_URL:-}$($pip config get global.index-url 2>/dev/null || true)" ]; then return; fi
    command -v "${UV:-uv}" || true
}

# Install by uv, and by pip where there is no uv or it fails.
install() {
    if [ -n "$uv" ]; then
        if "$uv" pip install --quiet --python "$venv/bin/python" "$@" >"$log" 2>&1; then return; fi
        say "uv failed, so pip installs: $(tail -n 1 "$log")"
    fi
    quietly $pip install -c constraints.txt 'pip>=25.1' # Python 3.11's own pip is older, and knows no dependency groups
    quietly $pip install "$@"
}

torch_needs_cuda() {
    $pip install --dry-run --quiet --report - "torch==$torch" 2>"$log" | grep -Eq '"name": "(nvidia|cuda)-'
}

# --no-deps throughout: the packages that torch needs come with the rest, pinned and from the usual index.
install_torch() {
    if $pip show torch 2>/dev/null | grep -q "^Version: $torch"; then return; fi
    if ! torch_needs_cuda; then
        say "installing torch $torch (a CPU build, about 200 MB)"
    else
        # The usual build brings gigabytes of CUDA that nothing here uses; PyTorch documents this index for the CPU build.
        say "installing torch $torch (the CPU build, from PyTorch's own index, about 200 MB)"
        cpu_index=https://download.pytorch.org/whl/cpu
        if $pip install --no-deps --index-url "$cpu_index" "torch==$torch" >"$log" 2>&1; then return; fi
        if [ "${CUDA:-}" = no ]; then fail "PyTorch's CPU index did not answer"; fi
        say "PyTorch's CPU index did not answer: INSTALLING THE CUDA BUILD INSTEAD, SEVERAL GIGABYTES"
    fi
    install --no-deps "torch==$torch"
}

# Everything else, by the versions in constraints.txt.
install_rest() {
    if [ "$what" = app ]; then
        install -c constraints.txt -e '.[app,train]'
        return
    fi
    install -c constraints.txt -e '.[all]' --group dev
}

if ! new_enough "$venv/bin/python"; then
    python=$(find_python)
    say "creating $venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv" || fail "$python cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)"
fi
uv=$(find_uv)
if [ -n "$uv" ]; then
    links=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-$($pip config get global.find-links 2>/dev/null || true)}}
    if [ -n "$links" ]; then export UV_FIND_LINKS="$links"; fi
fi
install_torch
say "installing the pinned packages and zoexplore itself (the first time takes a minute or two)"
install_rest
# Compile the kernels now, with a bar; otherwise the first page or the first test would wait for them.
env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -c 'from zoexplore.compute.prepare import main; main()'
say "ready"
