#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A wait in select for a socket that has nothing."""
import select
import socket

import diagnosis

ends = socket.socketpair()


def poll_controller(ns):
    select.select([ends[0]], [], [], ns / 1e9)


diagnosis.Plant("event_wait", "poll_controller select poll", act=poll_controller)

if __name__ == "__main__":
    diagnosis.run()
