#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A child process answers slowly, over a pipe."""
import os
import subprocess
import sys

import diagnosis

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_peer.py")
child = {}


def start(device):
    child["process"] = subprocess.Popen([sys.executable, PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def query_tokenizer(ns):
    child["process"].stdin.write(b"%d\n" % ns)
    child["process"].stdout.readline()


def finish():
    child["process"].stdin.close()
    child["process"].wait()


diagnosis.Plant("pipe", "query_tokenizer pipe", act=query_tokenizer, start=start, finish=finish)

if __name__ == "__main__":
    diagnosis.run()
