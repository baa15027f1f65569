"""What a budget needs of CUDA's driver: is there a GPU, load the recorder, wait until the block's work is done."""

import ctypes
import os

_NOT_INITIALISED = 3  # CUDA_ERROR_NOT_INITIALIZED


def _driver(mode=ctypes.DEFAULT_MODE):
    try:
        return ctypes.CDLL("libcuda.so.1", mode=mode)
    except OSError:
        return None


def missing():
    """Why there is no GPU to use, as half a sentence; None if there is a driver. Does not initialise CUDA."""
    if _driver() is None:
        return "there is no GPU here: libcuda.so.1 cannot be loaded"
    return None


def is_initialised():
    driver = _driver(os.RTLD_NOW | os.RTLD_NOLOAD)
    count = ctypes.c_int()
    return driver is not None and driver.cuDeviceGetCount(ctypes.byref(count)) != _NOT_INITIALISED


def initialise():
    """Initialises CUDA, which loads the recorder that the environment names. Why it cannot, or None."""
    reason = missing()
    if reason:
        return reason
    error = _driver().cuInit(0)
    return f"there is no GPU here: cuInit returned {error}" if error else None


def wait():
    """Waits for all GPUs that the process uses, so that the records of its copies are there."""
    driver = _driver(os.RTLD_NOW | os.RTLD_NOLOAD)
    count = ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for device in range(count.value):
        flags, is_active, context = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
        driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(is_active))
        if not is_active.value or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) != 0:
            continue
        driver.cuCtxPushCurrent_v2(context)
        driver.cuCtxSynchronize()
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        driver.cuDevicePrimaryCtxRelease_v2(device)
