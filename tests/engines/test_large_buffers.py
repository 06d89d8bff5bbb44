"""Memory of large buffers is used again: the system is asked for their pages once."""

import platform
import subprocess
import sys

import pytest

SIZE, TIMES = 64 << 20, 10
FILL = f"""
import resource
from engines import large_buffers

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def fill(size={SIZE}):
    before = faults()
    for _ in range({TIMES}):
        b"x" * size
    return faults() - before

fresh = fill()
large_buffers.keep()
print(fresh, fill())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")
def test_large_buffers_are_fetched_from_the_system_once():
    done = subprocess.run([sys.executable, "-c", FILL], check=True, capture_output=True, text=True)
    fresh, kept = map(int, done.stdout.split())
    assert kept < fresh / TIMES * 2
