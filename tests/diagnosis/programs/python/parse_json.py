#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The launching thread parses a document between launches."""
import json
import time

import diagnosis

DOCUMENT = json.dumps([{"id": i, "name": "sample%d" % i, "box": [i, i + 1, i + 2]} for i in range(200)])


def reload_metadata(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        json.loads(DOCUMENT)


diagnosis.Plant("computing", "reload_metadata", act=reload_metadata)

if __name__ == "__main__":
    diagnosis.run()
