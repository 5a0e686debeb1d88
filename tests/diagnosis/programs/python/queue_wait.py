#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A slow loader thread behind a queue. It computes without the interpreter's lock."""
import hashlib
import queue
import threading
import time

import diagnosis

wanted, batches = queue.Queue(), queue.Queue()


def decode_batch(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        hashlib.pbkdf2_hmac("sha256", b"batch", b"salt", 500)


def load():
    while True:
        decode_batch(wanted.get())
        batches.put(1)


def next_batch(ns):
    wanted.put(ns)
    batches.get()


def start(device):
    threading.Thread(target=load, name="loader", daemon=True).start()


diagnosis.Plant("thread_wait", "thread loader decode_batch", act=next_batch, guilty=decode_batch, start=start)

if __name__ == "__main__":
    diagnosis.run()
