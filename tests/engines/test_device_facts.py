"""GPU facts from a stand-in for NVML; there is no GPU where the tests run."""

import sys
from types import SimpleNamespace

import pytest

from engines import device_facts as module
from engines.device_facts import device_facts


class NVMLError(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch):
    """Two GPUs; the module is forgotten after the test."""
    fake = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda place: place,
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}abc",
        nvmlDeviceGetName=lambda handle: b"Card" if handle else "Card",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=(handle + 1) * 10**9, total=80 * 10**9),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=96 - handle),
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    module._nvml.cache_clear()
    yield fake
    module._nvml.cache_clear()


def test_every_gpu_is_told(nvml):
    assert device_facts() == [
        {"name": "Card", "utilisation": 96, "memory_used": 10**9, "memory_total": 80 * 10**9},
        {"name": "Card", "utilisation": 95, "memory_used": 2 * 10**9, "memory_total": 80 * 10**9},
    ]


@pytest.mark.parametrize(("visible", "used"), [("1", [95]), ("GPU-0", [96]), ("0,1", [96, 95]), ("", [])])
def test_only_the_gpus_that_this_process_may_use(nvml, monkeypatch, visible, used):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [device["utilisation"] for device in device_facts()] == used


def test_no_driver_and_lost_devices_are_no_error(nvml, monkeypatch):
    def fail(*_arguments):
        raise NVMLError("driver not loaded")

    monkeypatch.setattr(nvml, "nvmlDeviceGetUtilizationRates", fail)
    assert device_facts() == []
    module._nvml.cache_clear()
    monkeypatch.setattr(nvml, "nvmlInit", fail)
    assert device_facts() == []


def test_no_package_is_no_error(nvml, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert device_facts() == []
