"""How busy the GPUs are and how full their memory is, where NVML can tell (package `nvidia-ml-py`). Knows no engine."""

import os
from functools import cache
from types import ModuleType
from typing import Any


def device_facts() -> list[dict[str, Any]]:
    """A record for each GPU that this process may use: `name`, `utilisation` in percent, `memory_used` and `memory_total` in
    bytes. Empty where there is no GPU or no NVML; never raises."""
    nvml = _nvml()
    if nvml is None:
        return []
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(place) for place in range(nvml.nvmlDeviceGetCount())]
        return [_facts(nvml, handle) for place, handle in enumerate(handles) if _may_use(nvml, place, handle)]
    except nvml.NVMLError:
        return []


@cache
def _nvml() -> ModuleType | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml
    except ImportError:
        return None
    except pynvml.NVMLError:
        return None


def _may_use(nvml: ModuleType, place: int, handle: Any) -> bool:
    """Whether CUDA_VISIBLE_DEVICES, where it is set, names the device by its place or id."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return True
    named = [name.strip() for name in visible.split(",") if name.strip()]
    return str(place) in named or any(_text(nvml.nvmlDeviceGetUUID(handle)).startswith(name) for name in named)


def _facts(nvml: ModuleType, handle: Any) -> dict[str, Any]:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return {
        "name": _text(nvml.nvmlDeviceGetName(handle)),
        "utilisation": nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory_used": memory.used,
        "memory_total": memory.total,
    }


def _text(value: str | bytes) -> str:
    """Older releases of the package give bytes."""
    return value.decode() if isinstance(value, bytes) else value
