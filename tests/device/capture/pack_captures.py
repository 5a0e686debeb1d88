#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs a folder of captures into one .tar.gz of less than 15 MiB.

    pack_captures.py FOLDER OUT.tar.gz [BYTES]

Small files first; what would make it too large is left out, and LEFT_OUT.txt in it says which.
"""
import gzip
import io
import os
import sys
import tarfile
import zlib

LIMIT = 15 << 20


def squeezed(path):
    """Bytes of the file once compressed, and a little for its head."""
    with open(path, "rb") as file:
        size, compressor = 0, zlib.compressobj(5)
        while piece := file.read(1 << 20):
            size += len(compressor.compress(piece))
        return size + len(compressor.flush()) + 600


def choose(folder, limit):
    found = sorted((squeezed(path), path) for root, _, names in os.walk(folder) for name in names
                   if os.path.isfile(path := os.path.join(root, name)))
    taken, left_out, used = [], [], 4096
    for size, path in found:
        if used + size > limit:
            left_out.append((size, path))
            continue
        used += size
        taken.append(path)
    return sorted(taken), left_out


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, out = sys.argv[1:3]
    limit = int(sys.argv[3]) if len(sys.argv) == 4 else LIMIT
    taken, left_out = choose(folder, limit * 98 // 100)
    base = os.path.basename(os.path.abspath(folder))
    with open(out + ".part", "wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as file, \
            tarfile.open(fileobj=file, mode="w") as tar:
        for path in taken:
            tar.add(path, os.path.join(base, os.path.relpath(path, folder)), recursive=False)
        if left_out:
            text = "".join(f"{os.path.relpath(path, folder)}: {size} bytes compressed\n"
                           for size, path in left_out).encode()
            head = tarfile.TarInfo(os.path.join(base, "LEFT_OUT.txt"))
            head.size = len(text)
            tar.addfile(head, io.BytesIO(text))
    os.replace(out + ".part", out)
    print(f"{out}: {os.path.getsize(out)} bytes, {len(taken)} files, {len(left_out)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
