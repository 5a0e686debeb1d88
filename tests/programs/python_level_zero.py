# SPDX-License-Identifier: MIT
"""Launches a kernel by Level Zero without anything between: ctypes calls the loader, which it opens itself.

    python_level_zero.py ZEBIN

Five launches from one function and three from another, on an immediate list whose appends return when the kernel is done.
"""
import ctypes
import sys

ze = ctypes.CDLL("libze_loader.so.1")
handle = ctypes.c_void_p


class Desc(ctypes.Structure):
    """Any description: its type, no extension, and what the type says."""
    _fields_ = [("stype", ctypes.c_uint32), ("next", handle), ("words", ctypes.c_uint64 * 8)]


class ModuleDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", handle), ("format", ctypes.c_uint32), ("size", ctypes.c_size_t),
                ("bytes", ctypes.c_char_p), ("flags", ctypes.c_char_p), ("constants", handle)]


class KernelDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", handle), ("flags", ctypes.c_uint32), ("name", ctypes.c_char_p)]


class QueueDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", handle), ("ordinal", ctypes.c_uint32), ("index", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("mode", ctypes.c_uint32), ("priority", ctypes.c_uint32)]


class Groups(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


def check(result, what):
    if result:
        raise SystemExit(f"{what}: {result & 0xffffffff:#x}")


def call(name, *arguments):
    check(getattr(ze, name)(*arguments), name)


def made(name, *arguments):
    """What a call makes, whose place is its last argument."""
    place = handle()
    call(name, *arguments, ctypes.byref(place))
    return place


def launch(how_often):
    for _ in range(how_often):
        call("zeCommandListAppendLaunchKernel", immediate, kernel, ctypes.byref(Groups(1, 1, 1)), None, 0, None)


def forward():
    launch(5)


def backward():
    launch(3)


call("zeInit", 0)
count = ctypes.c_uint32(1)
driver, device = handle(), handle()
call("zeDriverGet", ctypes.byref(count), ctypes.byref(driver))
call("zeDeviceGet", driver, ctypes.byref(count), ctypes.byref(device))
context = made("zeContextCreate", driver, ctypes.byref(Desc(0xd)))
immediate = made("zeCommandListCreateImmediate", context, device, ctypes.byref(QueueDesc(0xe, mode=1)))
with open(sys.argv[1], "rb") as file:
    code = file.read()
module = handle()
call("zeModuleCreate", context, device, ctypes.byref(ModuleDesc(0x1b, format=1, size=len(code), bytes=code)),
     ctypes.byref(module), None)
kernel = made("zeKernelCreate", module, ctypes.byref(KernelDesc(0x1d, name=b"saxpy")))
call("zeKernelSetGroupSize", kernel, 16, 1, 1)
memory = made("zeMemAllocDevice", context, ctypes.byref(Desc(0x15)), ctypes.c_size_t(64), ctypes.c_size_t(64), device)
for index in range(2):
    call("zeKernelSetArgumentValue", kernel, index, ctypes.c_size_t(8), ctypes.byref(memory))
forward()
backward()
print("done")
