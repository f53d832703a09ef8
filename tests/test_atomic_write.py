"""A file is there whole, or as it was: no disk that is full and no folder that is closed leaves
half of one.
"""

import errno
import os
import subprocess
import sys
from threading import Thread

import pytest

from zoexplore.__main__ import main
from zoexplore.run.atomic_write import write
from zoexplore.views.lesson import page

OLD = b"what was there before"
BIG = bytes(range(256)) * 400


@pytest.fixture
def small(monkeypatch):
    """No file may become longer than 10 000 bytes: a longer one is cut off there, as on a full
    disk.
    """
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("old", [None, OLD])
def test_a_file_that_does_not_fit_leaves_what_was_there_and_says_what_to_do(tmp_path, small, old):
    path = tmp_path / "results.csv"
    if old:
        path.write_bytes(old)
    small()
    with pytest.raises(OSError, match=r"results\.csv' was not written: .*Make room") as said:
        write(path, BIG)
    assert said.value.errno == errno.EFBIG
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_so_does_a_disk_that_is_full_or_broken_at_the_end(tmp_path, monkeypatch, fails):
    path = tmp_path / "results.csv"
    path.write_bytes(OLD)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match=r"No space left on device\. Make room") as said:
        write(path, BIG)
    assert said.value.errno == errno.ENOSPC
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("results.csv", OLD)]


def test_a_lesson_that_does_not_fit_is_reported_in_one_line(tmp_path, small, monkeypatch, capsys):
    monkeypatch.setattr(page, "html", lambda *_: "x" * 20_000)
    run = tmp_path / "run.yaml"
    run.write_text("{n: 1000, d: 100, K: 10, T: 40, sigma: 0.1, beta: 0.5}")
    small()
    assert main(["lesson", str(run), "--out", str(tmp_path / "lesson.html")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "lesson.html' was not written: " in said and "Make room" in said
    assert list(tmp_path.iterdir()) == [run]


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(
        OSError, match=r"missing.results\.csv' was not written: No such file or directory"
    ):
        write(tmp_path / "missing" / "results.csv", BIG)


def test_a_file_is_replaced_and_a_link_stays_one(tmp_path):
    path, link = tmp_path / "results.csv", tmp_path / "latest.csv"
    path.write_bytes(OLD)
    link.symlink_to(path)
    write(link, BIG)
    write(str(tmp_path / ("long" * 60 + ".csv")), BIG)
    assert link.is_symlink() and path.read_bytes() == BIG and len(list(tmp_path.iterdir())) == 3


def test_what_a_killed_process_left_goes_with_the_next_file(tmp_path):
    path, others = (
        tmp_path / "results.csv",
        [tmp_path / ".results.csv.mine.part", tmp_path / ".other.csv.01234567.part"],
    )
    killed = "import os, signal\nfrom zoexplore.run import atomic_write\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    left = subprocess.run(
        [sys.executable, "-c", f"{killed}atomic_write.write({str(path)!r}, b'new')"], check=False
    )
    assert left.returncode < 0 and len(list(tmp_path.iterdir())) == 1
    (part,) = tmp_path.iterdir()
    for other in others:
        other.write_bytes(OLD)
    write(path, BIG)
    assert part.exists()  # as it might be another process' that is writing
    for file in (part, *others):
        os.utime(file, (0, 0))
    write(path, BIG)
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe, BIG)
    reader.join(timeout=60)
    assert read == [BIG] and pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]
