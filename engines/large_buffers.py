"""Memory of large buffers stays with the process, so that the next layer of a model has it at once."""

import ctypes
import sys

# Numbers of the parameters in glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
KEPT_BYTES = 1 << 30


def keep() -> None:
    """Let freed memory be used again whatever its size, up to a GiB of it; without effect where the C library is another one.

    glibc takes every buffer of more than 32 MiB from the system, which hands it out page by page: as wide as that are the
    states inside a layer of 1,024 tokens and 8,192 channels.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
