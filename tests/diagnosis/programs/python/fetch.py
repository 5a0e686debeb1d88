#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server in another process answers slowly, over TCP."""
import os
import socket
import subprocess
import sys

import diagnosis

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_peer.py")
server = {}


def start(device):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    server["process"] = subprocess.Popen([sys.executable, PEER, str(listener.getsockname()[1])])
    server["connection"] = listener.accept()[0]


def fetch_parameters(ns):
    server["connection"].sendall(b"%d\n" % ns)
    server["connection"].recv(16)


def finish():
    server["connection"].close()
    server["process"].wait()


diagnosis.Plant("network", "fetch_parameters network socket", act=fetch_parameters, start=start, finish=finish)

if __name__ == "__main__":
    diagnosis.run()
