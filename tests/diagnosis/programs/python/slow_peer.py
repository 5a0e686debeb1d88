#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For each line of nanoseconds, sleeps for them and answers a line: over a pipe, or over TCP to the port given."""
import socket
import sys
import time

if len(sys.argv) > 1:
    stream = socket.create_connection(("127.0.0.1", int(sys.argv[1]))).makefile("rwb", buffering=0)
    source, target = stream, stream
else:
    source, target = open(0, "rb", buffering=0), open(1, "wb", buffering=0)
while True:
    line = source.readline()
    if not line:
        break
    time.sleep(int(line) / 1e9)
    target.write(b"done\n")
