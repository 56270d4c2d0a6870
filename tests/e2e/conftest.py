"""End-to-end tests: real processes, real sockets, real time; port 0, bounded waits, no order.

FALCON_BINARY names the program under test; without it the newest of build/release and build/test.
"""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from local_falcon import LocalFalcon  # noqa: E402


def find_binary():
    if "FALCON_BINARY" in os.environ:
        return pathlib.Path(os.environ["FALCON_BINARY"]).resolve()
    built = [ROOT / "build" / preset / "falcon" for preset in ("release", "test")]
    built = [path for path in built if path.exists()]
    if not built:
        pytest.exit("no falcon program: build it first (make build)", returncode=2)
    return max(built, key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="session")
def binary():
    return find_binary()


@pytest.fixture
def falcon(binary, tmp_path):
    """Cloud, API server and controller, with two clusters; all of it ends with the test."""
    with LocalFalcon(binary, tmp_path / "f") as local:
        local.start()
        local.add_clusters()
        yield local


@pytest.fixture
def examples():
    return ROOT / "examples"
