#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thread holds a lock while it flushes, and the launching thread wants it."""
import threading
import time

import diagnosis

lock, wanted, locked = threading.Lock(), threading.Semaphore(0), threading.Semaphore(0)
state = {"awaited": False, "ns": 0, "total": 0}


def flush_statistics():
    while not state["awaited"]:
        time.sleep(0.0002)
    time.sleep(state["ns"] / 1e9)


def statistics():
    while True:
        wanted.acquire()
        with lock:
            locked.release()
            flush_statistics()


def let_statistics_lock(ns):
    state.update(awaited=False, ns=ns)
    wanted.release()
    locked.acquire()


def update_statistics(ns):
    state["awaited"] = True
    with lock:
        state["total"] += ns


def start(device):
    threading.Thread(target=statistics, name="statistics", daemon=True).start()


diagnosis.Plant("lock", "lock flush_statistics", act=update_statistics, guilty=flush_statistics, start=start,
                during=let_statistics_lock)

if __name__ == "__main__":
    diagnosis.run()
