#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A checkpoint that is synchronised with the disk."""
import os
import tempfile

import diagnosis

checkpoint = tempfile.NamedTemporaryFile(prefix="diagnosis.")
STATE = os.urandom(1 << 16)


def write_checkpoint(ns):
    while diagnosis.planted_ns() < ns:
        checkpoint.seek(0)
        checkpoint.write(STATE)
        checkpoint.flush()
        os.fsync(checkpoint.fileno())


diagnosis.Plant("file_sync file_write", "fsync write_checkpoint", act=write_checkpoint)

if __name__ == "__main__":
    diagnosis.run()
