#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thread of pure Python, which gives the interpreter's lock up after the switch interval alone."""
import threading

import diagnosis


def augment_samples():
    total = 0
    while True:
        for k in range(1000):
            total += k & 7


def start(device):
    if plant.amount_ns:
        threading.Thread(target=augment_samples, name="augment", daemon=True).start()


plant = diagnosis.Plant("python_gil", "GIL", guilty=augment_samples, start=start, measure="return")

if __name__ == "__main__":
    diagnosis.run()
