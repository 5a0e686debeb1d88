# SPDX-License-Identifier: MIT
"""The rows that every reader of this folder gives: commands of devices, calls of threads, and what is beside them.

All times are whole nanoseconds of the recording's own clock.
"""
import collections

# kind: kernel, copy, fill or other; direction: of a copy; call: index in Recording.calls or None; queued: when the
# command was put into its queue, where a file says so of commands without a call; caller: (process, thread) that stands
# for the process of a migration, which has no call
Command = collections.namedtuple("Command", "start end device queue kind direction name call queued caller",
                                 defaults=[None, None])

# kind: runtime, driver, operator, function or os
Call = collections.namedtuple("Call", "start end process thread kind name")

# A kernel that ranks run together, or its part on one rank.
Collective = collections.namedtuple("Collective", "start end rank communicator sequence name")

# How the tools name the directions of copies.
DIRECTIONS = {"HtoD": "HtoD", "DtoH": "DtoH", "DtoD": "DtoD", "HtoH": "HtoH", "PtoP": "peer",
              "CopyHostToDevice": "HtoD", "CopyDeviceToHost": "DtoH", "CopyDeviceToDevice": "DtoD",
              "HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD"}


def kernel_name(name):
    """A kernel's name without what its descriptor in the code object adds."""
    return name.removesuffix(" [clone .kd]").removesuffix(".kd")


class Recording:
    """Rows of one file, in no order."""

    def __init__(self, form):
        self.form = form
        self.commands = []
        self.calls = []
        # ranges that a framework has around its own steps: what a thread did in them is known, but they are no calls
        self.steps = []
        self.ranges = [0, 0]
        self.samples = 0
        self.switches = 0
        self.rank = None
        self.overheads = collections.defaultdict(lambda: [0, 0])
        # overheads of the profiler itself by (process, thread): [(start, end)]
        self.profiler = collections.defaultdict(list)
        self.collectives = []
        # moments of rows that are neither commands nor calls
        self.first = []
        self.last = []
        self.launches = self.captures = None
        # what only one format has
        self.more = {}

    def idle_launches(self):
        """Calls without a command, of functions of which other calls have one. What a stream captures is not executed."""
        if self.launches is None:
            joined = {row.call for row in self.commands}
            names = {self.calls[index].name for index in joined if index is not None}
            self.launches = [call for index, call in enumerate(self.calls)
                             if index not in joined and call.name in names and not self.is_captured(call)]
        return self.launches

    def is_captured(self, launch):
        if self.captures is None:
            self.captures = collections.defaultdict(list)
            for call in sorted((call for call in self.calls if "StreamBeginCapture" in call.name or
                                "StreamEndCapture" in call.name), key=lambda call: call.start):
                own = self.captures[call.process, call.thread]
                if "Begin" in call.name:
                    own.append([call.start, call.end])
                elif own:
                    own[-1][1] = call.end
        return any(start <= launch.start < end for start, end in self.captures[launch.process, launch.thread])

    def see(self, begin, end=None):
        """Extends the recording to the time of a row that is not kept."""
        self.first.append(begin)
        self.last.append(begin if end is None else end)

    def add_range(self, start, end):
        """A range of the program. end None: it is open."""
        self.add_to(self.ranges, start, end)

    def add_overhead(self, name, start, end):
        self.add_to(self.overheads[name], start, end)

    def add_to(self, pair, start, end):
        pair[0] += 1
        pair[1] += 0 if end is None else end - start
        self.see(start, end)
