# SPDX-License-Identifier: MIT
"""Runs inside gdb: prints gdb's stack at each call of a driver's function.

    gdb -batch -x gdb_stacks.py --args PROGRAM …      DUET_GDB_STOP: the function, DUET_GDB_SKIP: a file

Each line is one call: the thread, then FILE:OFFSET of each frame, innermost first, separated by tabs. Frames of the
driver and of the skipped file are left out. The offset is the return address as a file offset.
"""
import os

import gdb

SKIP = os.environ["DUET_GDB_SKIP"]
OUT = open(os.environ["DUET_GDB_OUT"], "w", encoding="utf-8")
REAL = (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME)


def mappings(pid):
    """(begin, end, file offset, name) of what is mapped from files."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        rows = [line.split(maxsplit=5) for line in maps]
    for row in rows:
        begin, end = (int(word, 16) for word in row[0].split("-"))
        yield begin, end, int(row[2], 16), row[5].strip() if len(row) > 5 else "?"


def place(maps, pc):
    for begin, end, offset, name in maps:
        if begin <= pc < end:
            return name, pc - begin + offset
    return "?", pc


class Stop(gdb.Breakpoint):
    def stop(self):
        thread = gdb.selected_thread()
        maps = list(mappings(thread.ptid[0]))
        frame, places = gdb.newest_frame(), []
        while frame is not None:
            if frame.type() in REAL:
                places.append(place(maps, frame.pc()))
            frame = frame.older()
        # the driver's own, then the guest's
        driver = places[0][0]
        while places and (places[0][0] == driver or os.path.basename(places[0][0]) == SKIP):
            places.pop(0)
        print(thread.ptid[1], *(f"{name}:{offset:#x}" for name, offset in places), sep="\t", file=OUT)
        return False


for setting in ("confirm off", "pagination off", "breakpoint pending on", "backtrace past-main on",
                "backtrace past-entry on", "backtrace limit unlimited", "debuginfod enabled off",
                "print thread-events off"):
    gdb.execute("set " + setting)
for signal in ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIG34", "SIGSTOP", "SIGPROF", "SIGVTALRM"):
    gdb.execute(f"handle {signal} nostop noprint pass", to_string=True)
Stop(os.environ["DUET_GDB_STOP"])
gdb.execute("run")
OUT.close()
