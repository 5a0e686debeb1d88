#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record --device."""
import os

import duet_test
from duet_test import BUILD, DUET, run, text

t = duet_test.Suite()
RENDER = [os.path.join(BUILD, "examples", "render"), "--iterations", "5"]


def recorded(name, *options):
    path = t.path(name)
    result = t.record(RENDER, path, options)
    t.equal(result.status, 0, text(result.stderr))
    return t.report(path), text(result.stderr)


with t.case("a device by its name and by its key"):
    t.recorded_example()
    whole, _ = recorded("whole.duet")
    device, count = whole["devices"][0], whole["ledger"]["launched"]
    t.true(count > 0, "the program launches")
    for name in (device["name"], device["key"]):
        if "," in name:
            continue
        part, message = recorded("part.duet", "--device", f"no such device,{name}")
        t.equal((part["ledger"]["launched"], len(part["devices"])), (count, len(whole["devices"])), name)
        t.true("device 'no such device': nothing was recorded of it" in message and f"device '{name}'" not in message, message)

with t.case("another device: its rows are missing, and a warning says so"):
    part, message = recorded("other.duet", "--device", "another GPU")
    t.true("device 'another GPU': nothing was recorded of it; no collector reported such a device, and 1 other one was left out" in message, message)
    t.equal((part["devices"], part["queues"], part["kernels"], part["instructions"]), ([], [], [], []), "rows of devices")
    t.equal((part["ledger"]["launched"], part["ledger"]["executed"]), (0, 0), "commands")
    t.true(part["api"] and part["complete"], "the calls are recorded, and none is lost")

with t.case("a device that does not exist"):
    for name in ("ffff:ff:1f.7", "renderD999", "/dev/dri/card999"):
        result = run([DUET, "record", "--device", name, "-o", t.path("none.duet"), "--", "true"])
        t.equal(result.status, 125, name)
        t.true(f"--device: no device '{name}'; GPUs of this machine: " in text(result.stderr), text(result.stderr))
    result = run([DUET, "record", "--device", ",", "--", "true"])
    t.equal(result.status, 125, "an empty name")
    t.true("',' is not a list of devices" in text(result.stderr), text(result.stderr))

t.end()
