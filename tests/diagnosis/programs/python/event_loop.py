#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An event loop of asyncio that waits."""
import asyncio

import diagnosis

loop = asyncio.new_event_loop()


def run_callbacks(ns):
    loop.run_until_complete(asyncio.sleep(ns / 1e9))


diagnosis.Plant("event_wait", "run_callbacks poll", act=run_callbacks)

if __name__ == "__main__":
    diagnosis.run()
