#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thread of a C function that never gives the interpreter's lock up: json.loads of a large document."""
import json
import threading
import time

import diagnosis

documents, wanted = {}, threading.Semaphore(0)


def parse_annotations():
    json.loads(documents["text"])


def load(name):
    while True:
        wanted.acquire()
        parse_annotations()


def start(device):
    """A document that takes the device's time and the wanted one to parse."""
    rows = [{"id": i, "name": "sample%d" % i, "box": [i, i + 1]} for i in range(2000)]
    text = json.dumps(rows)
    begin = time.thread_time_ns()
    json.loads(text)
    taken = time.thread_time_ns() - begin
    documents["text"] = json.dumps(rows * max(1, round((plant.amount_ns * plant.every + 5000000) / taken)))
    threading.Thread(target=load, args=("",), name="loader", daemon=True).start()


def let_loader_parse(ns):
    wanted.release()


plant = diagnosis.Plant("python_gil", "GIL", guilty=parse_annotations, start=start, during=let_loader_parse,
                        measure="return")

if __name__ == "__main__":
    diagnosis.run()
