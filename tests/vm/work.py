# SPDX-License-Identifier: MIT
"""What work in a virtual machine did by its own words, against what our programs in its kernel told of it.

Times are compared by their order only: a machine that is interpreted may be slow without end.
"""
import collections
import json
import struct

# enum drm_record_kind
INIT, SIGNALED, WAIT_START, WAIT_END, TIMELINE = 5, 7, 8, 9, 10
IS_FENCE = 1  # enum job_flags
# The clock that the kernel reads in any context steps a little beside the one that a program reads.
STEP_NS = 1_000_000


def uncounted(rows):
    """Why samples are missing, nobody knows how many, in a recording's rows."""
    return sorted(row["reason"] if "count" not in row else f"{row['count']} by {row['reason']}"
                  for row in rows if row["kind"] == "loss" and row["lost"] == "instruction_sample")


class Record:
    def __init__(self, fields):
        kind, time_ns, tgid, tid, context, number, self.thread, *self.names = fields
        self.kind, self.time_ns = int(kind), int(time_ns)
        self.task = (int(tgid), int(tid))
        self.fence = (int(context), int(number))

    def __repr__(self):
        return f"record {self.kind} at {self.time_ns} of {self.task} {self.thread}, fence {self.fence} {self.names}"


class Job:
    def __init__(self, fields):
        numbers, (self.thread, self.driver, self.device, self.ring) = [int(text) for text in fields[:9]], fields[9:]
        self.queued_ns, self.run_ns, self.done_ns = numbers[:3]
        self.task, self.flags = tuple(numbers[3:5]), numbers[5]
        self.fence, self.client = tuple(numbers[6:8]), numbers[8]

    def __repr__(self):
        return (f"job {self.queued_ns} {self.run_ns} {self.done_ns} of {self.task} {self.thread}, flags {self.flags}, "
                f"client {self.client}: {self.driver} {self.device} {self.ring}")


def is_sorted(*times_ns):
    """Within a step of the clock."""
    return all(before - STEP_NS <= after for before, after in zip(times_ns, times_ns[1:]))


def words(lines, *wanted):
    return [line.split()[1:] for line in lines if line.split()[:1] in [[word] for word in wanted]]


class Fences:
    """tests/vm/fences.c: complaints() yields what is wrong."""

    def __init__(self, lines):
        self.process = int((words(lines, "process") or [[0]])[0][0])
        self.attached = {int(buffer): [int(text) for text in rest] for buffer, *rest in words(lines, "attached")}
        self.signaled = {int(buffer): [int(text) for text in rest] for buffer, *rest in words(lines, "signaled")}
        self.waited = [[int(text) for text in fields] for fields in words(lines, "waited")]
        self.records = [Record(fields) for fields in words(lines, "record")]
        self.jobs = [job for job in map(Job, words(lines, "job")) if job.driver == "vgem"]
        made = [record for record in self.records if record.kind == INIT and record.task[0] == self.process]
        self.made = dict(zip(self.attached, made)) if len(made) == len(self.attached) == 5 else {}

    def one(self, kind, fence):
        found = [record for record in self.records if record.kind == kind and record.fence == fence]
        return found[0] if len(found) == 1 else None

    def complaints(self):
        # Each builds on those before it.
        for complain in (self.of_beginnings, self.of_ends, self.of_wait, self.of_names, self.of_jobs):
            found = list(complain())
            if found:
                return found
        return []

    def of_beginnings(self):
        if len(self.made) != 5 or len({record.fence for record in self.made.values()}) != 5:
            yield f"fences of {self.attached} are {self.made} of {self.records}"
        for buffer, record in self.made.items():
            before_ns, after_ns = self.attached[buffer]
            if record.task != (self.process, self.process) or record.thread != "fences":
                yield f"buffer {buffer} of process {self.process}: {record}"
            if not is_sorted(before_ns, record.time_ns, after_ns):
                yield f"buffer {buffer} from {before_ns} to {after_ns}: {record}"

    def of_ends(self):
        fences = {record.fence for record in self.made.values()}
        order = [record.fence for record in self.records if record.kind == SIGNALED and record.fence in fences]
        scripted = [self.made[buffer].fence for buffer in self.signaled]
        if len(scripted) != 5 or order != scripted:
            yield f"signaled in the order {order}, and not {scripted}"
            return
        for buffer, (before_ns, after_ns) in self.signaled.items():
            record = self.one(SIGNALED, self.made[buffer].fence)
            if not is_sorted(before_ns, record.time_ns, after_ns):
                yield f"buffer {buffer} from {before_ns} to {after_ns}: {record}"

    def of_wait(self):
        if len(self.waited) != 1:
            yield f"waits: {self.waited}"
            return
        buffer, before_ns, after_ns, tid = self.waited[0]
        start, end, signaled = (self.one(kind, self.made[buffer].fence) for kind in (WAIT_START, WAIT_END, SIGNALED))
        if not start or not end or {start.task, end.task} != {(self.process, tid)}:
            yield f"wait of thread {tid}: {start}, {end}"
        elif not is_sorted(before_ns, start.time_ns, signaled.time_ns, end.time_ns, after_ns):
            yield f"wait from {before_ns} to {after_ns}: {start}, {signaled}, {end}"

    def of_names(self):
        names = {record.fence[0]: record.names for record in self.records if record.kind == TIMELINE}
        for record in self.made.values():
            if names.get(record.fence[0] & 0xffffffff) != ["vgem", "unbound"]:
                yield f"{record} is called {names}"

    def of_jobs(self):
        """Each is a job that was made and signaled, and that nobody ran."""
        found = {job.fence: (job.queued_ns, job.run_ns, job.done_ns, job.task, job.flags, job.thread, job.ring)
                 for job in self.jobs}
        wanted = {record.fence: (record.time_ns, 0, self.one(SIGNALED, record.fence).time_ns, record.task, IS_FENCE,
                                 "fences", "unbound") for record in self.made.values()}
        if found != wanted:
            yield f"jobs {self.jobs}, and not {wanted}"


class Submissions:
    """tests/vm/submit.c: complaints() yields what is wrong."""

    def __init__(self, lines):
        self.process = int((words(lines, "submitter") or [[0]])[0][0])
        self.submitted = words(lines, "submitted")
        self.ran = [[int(text) for text in fields] for fields in words(lines, "ran")]
        jobs = [job for job in map(Job, words(lines, "job")) if job.driver == "made_up_gpu"]
        self.jobs = sorted(jobs, key=lambda job: job.queued_ns)

    def complaints(self):
        if not len(self.jobs) == len(self.submitted) == len(self.ran) == 5:
            return [f"submitted {self.submitted}, ran {self.ran}, and these were seen: {self.jobs}"]
        return [complaint for numbers in zip(self.jobs, self.submitted, self.ran) for complaint in self.of_job(*numbers)]

    def of_job(self, job, submitted, ran):
        before_ns, after_ns, tid, thread = submitted
        run_ns, done_ns, known_ns, client = ran
        if job.task != (self.process, int(tid)) or job.thread != thread:
            yield f"{job} is of thread {tid} {thread} of {self.process}"
        if (job.device, job.ring, job.client, job.flags) != ("made_up_gpu", "shader", client, 0):
            yield f"{job} is of made_up_gpu, shader, client {client}"
        if not is_sorted(int(before_ns), job.queued_ns, int(after_ns)):
            yield f"{job} was queued from {before_ns} to {after_ns}"
        if not is_sorted(job.queued_ns, job.run_ns, run_ns, done_ns, job.done_ns, known_ns):
            yield f"{job} ran from {run_ns} to {done_ns}, which was known at {known_ns}"


class Submitter:
    """tests/vm/submit.c by its own words."""

    def __init__(self, lines):
        self.process = int((words(lines, "submitter") or [[0]])[0][0])
        self.submitted = [(int(before), int(after), int(tid), thread) for before, after, tid, thread
                          in words(lines, "submitted")]
        self.ran = [[int(text) for text in fields] for fields in words(lines, "ran")]


class Recording:
    """tests/vm/record.sh: complaints() yields what is wrong."""

    def __init__(self, lines):
        self.submitters = [Submitter(lines), Submitter([line.removeprefix("other ") for line in lines
                                                        if line.startswith("other ")])]
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        self.kinds = {}
        for row in rows:
            self.kinds.setdefault(row["kind"], []).append(row)
        text = "".join(line.removeprefix("report ") for line in lines if line.startswith("report "))
        self.report = json.loads(text) if text else {}

    def things(self, kind):
        return {row["id"]: row for row in self.kinds.get(kind, [])}

    def complaints(self):
        for complain in (self.of_jobs, self.of_report):
            found = list(complain())
            if found:
                return found
        return []

    def of_jobs(self):
        threads, processes, queues = self.things("thread"), self.things("process"), self.things("queue")
        ran = sorted(row for submitter in self.submitters for row in submitter.ran)
        executions = self.kinds.get("execution", [])
        unseen = [row for row in executions if "started" not in row or "ended" not in row]
        if unseen:
            yield f"not seen to run: {unseen}"
            return
        executions.sort(key=lambda row: row["started"])
        launches = {row["correlation"]: row for row in self.kinds.get("launch", [])}
        if not len(ran) == len(executions) == len(launches) == 10:
            yield f"ran {ran}, recorded {executions} of {launches}"
            return
        for (run_ns, done_ns, known_ns, _), row in zip(ran, executions):
            if not is_sorted(row["started"], run_ns, done_ns, row["ended"], known_ns):
                yield f"from {run_ns} to {done_ns}, known at {known_ns}: {row}"
        for submitter in self.submitters:
            for before_ns, after_ns, tid, thread in submitter.submitted:
                found = [row for row in launches.values() if threads[row["thread"]]["tid"] == tid
                         and is_sorted(before_ns, row["enter"], after_ns)]
                names = {(threads[row["thread"]]["name"], row["function"], row["command"], queues[row["queue"]]["name"],
                          processes[queues[row["queue"]]["process"]]["pid"]) for row in found}
                if names != {(thread, "made_up_gpu job", "batch", "shader", submitter.process)}:
                    yield f"submitted from {before_ns} to {after_ns} by {tid} {thread}: {found} {names}"

    def of_report(self):
        """Both wait for the other, whose name is told though it is not recorded."""
        found = [row["evidence"] for row in self.report.get("findings", []) if row["id"] == "device_shared"]
        pids = {row["pid"] for row in found[0]["processes"]} if found else set()
        if pids != {submitter.process for submitter in self.submitters}:
            yield (f"device_shared: {found}, and not {[submitter.process for submitter in self.submitters]}: "
                   f"{self.report.get('devices')}")
        elif found[0]["overlap_ns"] or not found[0]["waited_ns"]:
            yield f"one at a time: {found}"


class Stalls:
    """tests/vm/xe_work.c below tests/vm/xe_stalls.c: complaints() yields what is wrong."""
    REASONS = ("tdr", "other", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "active")

    def __init__(self, lines):
        addresses = {number: int(address, 16) for number, address in words(lines, "kernel")}
        times = {}
        for number, _, count in words(lines, "launched"):
            times[number] = times.get(number, 0) + int(count)
        self.scripted = {}
        for number, offset, *counts in words(lines, "scripted"):
            place = (addresses[number] + int(offset)) & 0xffffffff
            self.scripted[place] = {reason: int(count) * times[number] for reason, count in zip(self.REASONS, counts)
                                    if int(count)}
        self.second = words(lines, "second")
        self.found = {int(ip, 16) << 3: {reason: int(count) for reason, count in zip(self.REASONS, counts) if int(count)}
                      for ip, *counts in words(lines, "stalls")}

    def complaints(self):
        if not self.scripted or self.found != self.scripted:
            yield f"found {self.found}, scripted {self.scripted}"
        if self.second != [["16"]]:
            yield f"a second stream beside the first: {self.second}"


class RecordedSubmissions:
    """tests/vm/submissions.sh: what xe_submit and xe_work hand to a GPU, as duet saw their driver.

    innermost: the function that is the last one of a stack; way: by what the driver is seen.
    """
    DEEP = 21  # calls of go_down

    def __init__(self, lines, innermost="xe_exec_ioctl", way="its functions'"):
        self.innermost, self.way = innermost, way
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        self.codes = {row["id"]: row for row in rows if row["kind"] == "code"}
        self.addresses = {number: row.get("address") for number, row in self.codes.items()}
        launches = sorted((row for row in rows if row["kind"] == "launch"), key=lambda row: row["enter"])
        self.batches = [row for row in launches if row["function"] == "xe_exec_ioctl" and row["command"] == "batch"]
        self.kernels = [row for row in launches if row["command"] == "kernel"]
        # what the mock's own fences tell is no job
        others = {row["correlation"] for row in launches if row["function"] == "xe fence"}
        self.executions = {row["correlation"] for row in rows if row["kind"] == "execution"} - others
        self.notes = [line for line in lines if line.startswith("info ")]
        self.flame = [line.removeprefix("flame ") for line in lines if line.startswith("flame ")]
        # in the order of submissions; 0: nobody may know it
        submitted = [[int(address, 16) for address in addresses] for _, *addresses in words(lines, "submitted")]
        self.wanted = [address for addresses in submitted for address in addresses]
        self.further = len(self.wanted) - len(submitted)
        self.replaced = {int(address, 16): int(count) for address, count in words(lines, "replaced")}
        kernels = {number: int(address, 16) for number, address in words(lines, "kernel")}
        self.paths = {}
        for number, function, count in words(lines, "launched"):
            self.paths[function] = self.paths.get(function, 0) + int(count)
            self.wanted += [kernels[number]] * int(count)

    def complaints(self):
        found = [self.addresses.get(row["kernel"]) for row in self.kernels]
        wanted = [address for address in self.wanted if address]
        if not wanted or found != wanted:
            yield f"kernels {[hex(address or 0) for address in found]}, and not {[hex(address) for address in wanted]}"
        if len(self.batches) != len(self.wanted) - self.further:
            yield f"{len(self.batches)} batches of {len(self.wanted) - self.further}"
        unknown = len(self.wanted) - len(wanted)
        if not any(f"{unknown} batches that could not be read to the end" in note for note in self.notes):
            yield f"{unknown} batches have to be unknown: {self.notes}"
        # of those that the kernel's scheduler told of, none is a command of its own
        strangers = self.executions - {row["correlation"] for row in self.batches}
        if strangers or len(self.executions) < len(self.batches) - unknown:
            yield f"{len(self.executions)} executions, {len(strangers)} of no batch of {len(self.batches)}"
        if not any(f"through {self.way}" in note for note in self.notes):
            yield f"not recorded through {self.way}: {self.notes}"
        yield from self.replaced_complaints()
        yield from self.path_complaints()

    def replaced_complaints(self):
        """What lies where another kernel lay is another one, and that one has ended."""
        for address, count in self.replaced.items():
            found = [self.codes[row["kernel"]] for row in self.kernels if self.addresses.get(row["kernel"]) == address]
            if len(found) != count or len({row["id"] for row in found}) != count or \
                    not all("end_ns" in row for row in found[:-1]):
                yield f"at {address:#x} {count} kernels one after the other, and not {found}"

    def path_complaints(self):
        """The whole stack, from main to the driver's function in the kernel, with no frame pointers."""
        found = dict.fromkeys(self.paths, 0)
        for line in self.flame:
            frames, _, count = line.rpartition(" ")
            frames = frames.split(";")
            for function in self.paths:
                if function in frames:
                    whole = (frames[frames.index(function) - 1] == "main" and frames.count("go_down") == self.DEEP and
                             self.innermost + "_[k]" in frames)
                    found[function] += int(count) if whole else 0
        if found != self.paths:
            yield f"stacks of {found}, and not {self.paths}: {self.flame}"


def of_drm_ioctl(lines):
    """The same of a driver whose functions nobody can find: what they were called for is read where all of DRM begin."""
    return RecordedSubmissions(lines, "drm_ioctl", "drm_ioctl")


class RecordedStalls(Stalls):
    """tests/vm/stalls.sh: the same by duet, of a program on the second of two GPUs, after a reset and a loss."""

    def __init__(self, lines):
        super().__init__(lines)
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        self.samples = [row for row in rows if row["kind"] == "instruction_sample"]
        self.notes = [line for line in lines if line.startswith("info ")]
        self.devices = {row["id"]: row["key"] for row in rows if row["kind"] == "device"}
        self.losses = uncounted(rows)
        self.found = {}
        for row in self.samples:
            counts = self.found.setdefault(row["offset"], {})
            counts[row["stall"]] = counts.get(row["stall"], 0) + row["count"]

    def complaints(self):
        if not self.scripted or self.found != self.scripted:
            yield f"found {self.found}, scripted {self.scripted}"
        if {self.devices[row["device"]] for row in self.samples} != {"0000:04:00.0"}:
            yield f"of devices {self.devices}: {self.samples[:3]}"
        if {(row["period"], row["period_unit"]) for row in self.samples} != {(502, "cycles")}:
            yield f"sampled each: {self.samples[:3]}"
        if self.losses != ["gap", "ring_full"] or not any("lost some 1 times; the GPU was reset 1 times" in note for note in self.notes):
            yield f"{self.losses} losses, noted {self.notes}"


class Program:
    """tests/vm/ze_work.c by its own words: what it launched, and what its kernels do at each launch."""

    def __init__(self, pid):
        self.pid = pid
        self.addresses = {}  # of kernels, by device and name
        self.launched = collections.Counter()  # by device, name and function
        self.scripted = {}  # counts of a launch, by device, name and offset
        self.rows = []  # of no launch: device, address, offset, counts

    def samples(self):
        """{(device, kernel's name, offset, reason): how many its launches made}."""
        found = collections.Counter()
        for (device, name, offset), counts in self.scripted.items():
            times = sum(self.launched[device, name, path] for path in PATHS)
            for reason, count in counts.items():
                found[device, name, offset, reason] += times * count
        return found


PATHS = {"launch_forward": "zeCommandQueueExecuteCommandLists", "launch_backward": "zeCommandListAppendLaunchKernel"}


def programs(lines):
    def counts_of(texts):
        return {reason: int(text) for reason, text in zip(Stalls.REASONS, texts) if int(text)}

    found = []
    for word, *fields in words_of(lines, "process", "kernel", "launched", "scripted", "rows"):
        if word == "process":
            found.append(Program(int(fields[0])))
        elif word == "kernel":
            found[-1].addresses[fields[0], fields[1]] = int(fields[2], 16)
        elif word == "launched":
            found[-1].launched[tuple(fields[:3])] += int(fields[3])
        elif word == "scripted":
            found[-1].scripted[fields[0], fields[1], int(fields[2], 16)] = counts_of(fields[3:])
        else:
            found[-1].rows.append((fields[0], int(fields[1], 16), int(fields[2], 16), counts_of(fields[3:])))
    return found


def words_of(lines, *wanted):
    return [line.split() for line in lines if line.split()[:1] in [[word] for word in wanted]]


class Zebin:
    """Instructions of its kernels, by their opcodes alone."""
    NAMES = {0x01: "sync", 0x31: "send", 0x38: "math", 0x40: "add", 0x61: "mov", 0x65: "and"}

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        begin, = struct.unpack_from("<Q", self.data, 40)
        count, names = struct.unpack_from("<HH", self.data, 60)
        heads = [struct.unpack_from("<IIQQQQ", self.data, begin + 64 * i) for i in range(count)]
        self.kernels = {}
        for name, _, _, _, offset, _ in heads:
            text = self.data[heads[names][4] + name:].split(b"\0")[0].decode()
            if text.startswith(".text."):
                self.kernels[text.removeprefix(".text.")] = offset

    def name(self, kernel, offset):
        return self.NAMES[self.data[self.kernels[kernel] + offset] & 0x7f]


class Chain:
    """tests/vm/chain.sh: from programs of Level Zero to what their kernels wait for. Counts are those that were scripted;
    which of two launches they are of is an estimate of which we make one of our own.

    path: of their zebin; variant: as chain.sh has it; way: by what of its functions the driver is seen.
    """

    def __init__(self, lines, path, variant, way):
        self.zebin, self.variant, self.way = Zebin(path), variant, way
        self.has_guest = variant not in ("alone", "hard")
        self.programs = programs(lines)
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        self.kinds = collections.defaultdict(list)
        for row in rows:
            self.kinds[row["kind"]].append(row)
        self.devices = {row["id"]: row["key"] for row in self.kinds["device"]}
        self.launches = [line.removeprefix("launch ") for line in lines if line.startswith("launch ")]
        self.stalls = [line.removeprefix("stall ") for line in lines if line.startswith("stall ")]
        self.notes = [line for line in lines if line.startswith("info ")]
        text = "".join(line.removeprefix("report ") for line in lines if line.startswith("report "))
        self.report = json.loads(text) if text.startswith("{") else {}
        self.paths = self.read_paths([line.removeprefix("tree ") for line in lines if line.startswith("tree ")])

    @staticmethod
    def read_paths(lines):
        """{stack's id: which place of the program it is of}"""
        lists = json.loads("{" + "".join(line for line in lines if not line.startswith('"ledger"')).rstrip().rstrip(",") + "}")
        names = {row["id"]: {name["function"] for name in row["names"]} for row in lists.get("frames", [])}
        stacks = {row["id"]: row for row in lists.get("stacks", [])}
        found = {}
        for id in stacks:
            at, functions = id, set()
            while at in stacks:
                functions |= names.get(stacks[at]["frame"], set())
                at = stacks[at]["caller"]
            found[id] = next((path for path in PATHS if path in functions), None)
        return found

    def complaints(self):
        """Of what the collectors have."""
        if len(self.programs) != 2:
            yield f"{len(self.programs)} programs"
            return
        yield from self.of_samples()
        yield from self.of_losses()
        yield from self.of_launches() if self.has_guest else self.of_submissions()

    # ---- what was collected ----

    def of_samples(self):
        """Each device's, by address."""
        wanted, found = collections.Counter(), collections.Counter()
        for program in self.programs:
            for (device, name, offset, reason), count in program.samples().items():
                wanted[device, program.addresses[device, name] + offset & 0xffffffff, reason] += count
            for device, address, offset, counts in program.rows:
                for reason, count in counts.items():
                    wanted[device, address + offset & 0xffffffff, reason] += count
        for row in self.kinds["instruction_sample"]:
            found[self.devices[row["device"]], row["offset"] & 0xffffffff, row["stall"]] += row["count"]
        if not wanted or found != wanted:
            yield f"samples {found - wanted} too many, {wanted - found} too few"

    def of_losses(self):
        lost = uncounted(self.kinds["loss"])
        told = [any(f"lost some {losses} times; the GPU was reset {resets} times" in note for note in self.notes)
                for losses, resets in ((0, 1), (1, 0))]
        if (lost, told) != ((["gap", "ring_full"], [True, True]) if self.variant in ("losses", "hard") else ([], [False, False])):
            yield f"{lost} losses, noted {self.notes}"

    def codes(self):
        return {row["id"]: row for row in self.kinds["code"]}

    def of_launches(self):
        """The guest's: of each kernel, from each place, with the address that the driver tells."""
        codes, pids = self.codes(), {row["id"]: row["pid"] for row in self.kinds["process"]}
        threads = {row["id"]: pids[row["process"]] for row in self.kinds["thread"]}
        wanted, found = collections.Counter(), collections.Counter()
        for program in self.programs:
            for (device, name, path), count in program.launched.items():
                wanted[program.pid, device, name, program.addresses[device, name], PATHS[path]] += count
        for row in self.kinds["launch"]:
            code = codes.get(row["kernel"], {"name": None})
            if row["function"] in PATHS.values():
                found[threads[row["thread"]], self.devices[code.get("device")], code["name"], code.get("address"),
                      row["function"]] += 1
        if not wanted or found != wanted:
            yield f"launches {found - wanted} too many, {wanted - found} too few"
        yield from self.of_paths(self.launches, lambda frames: frames[-1].removesuffix("_[G]"))

    def of_submissions(self):
        """The kernel's: of each kernel, from each place; names are addresses."""
        codes = self.codes()
        wanted, found = collections.Counter(), collections.Counter()
        for program in self.programs:
            for (device, name, _), count in program.launched.items():
                wanted[device, program.addresses[device, name]] += count
        for row in self.kinds["launch"]:
            code = codes.get(row["kernel"], {})
            if row["command"] == "kernel":
                found[self.devices.get(code.get("device")), code.get("address")] += 1
        if not wanted or found != wanted:
            yield f"submitted {found - wanted} too many, {wanted - found} too few"
        if not any(f"through its functions' {self.way}" in note for note in self.notes):
            yield f"not recorded through its functions' {self.way}: {self.notes}"

    def of_paths(self, lines, name_of):
        """Folded lines of launches: each has the whole stack of its place, twenty calls deep without frame pointers."""
        wanted, found, batches = collections.Counter(), collections.Counter(), 0
        for program in self.programs:
            for (_, name, path), count in program.launched.items():
                wanted[name, path] += count
        for line in lines:
            frames, count = line.rsplit(" ", 1)
            frames = frames.split(";")
            path = self.path_of(frames)
            if frames[-1] == "batch_[G]" or frames[-2:-1] == ["batch_[G]"]:
                # a submission before its process's runtime told that it tells of its own work
                batches += int(count)
            elif path:
                found[name_of(frames), path] += int(count)
            else:
                yield f"no launch of ours: {line}"
        if found != wanted or batches > len(self.programs) * len(self.devices):
            yield f"stacks of {found} and {batches} batches, and not {wanted}"

    def path_of(self, frames):
        """Which place of the program they are of; None: of none, or not whole. The guest's end with the runtime's function;
        the kernel's with the driver's: the loader's functions jump into those of the runtime."""
        for path, function in PATHS.items():
            last = function if self.has_guest else "xe_exec_ioctl_[k]"
            if path in frames and last in frames and "main" in frames and frames.count("go_down") == 21:
                if frames.index("main") < frames.index(path) < frames.index("go_down") < frames.index(last):
                    return path
        return None

    # ---- what is shown ----

    def flame_complaints(self):
        for complain in (self.of_counts, self.of_stacks, self.of_split, self.of_report):
            found = list(complain())
            if found:
                return found
        return []

    def kernel_frames(self):
        """{(pid, as the frame has it): (the program, its name)}"""
        found = {}
        for program in self.programs:
            for (_, name), address in program.addresses.items():
                frame = name if self.has_guest else f"[kernel {address:#x}]"
                found[program.pid, frame + "_[G]"] = (program, name)
        return found

    def folded(self):
        """[(process, pid, the stack, [file, kernel, instruction, reason, offset], count)]"""
        found = []
        for line in self.stalls:
            frames, count = line.rsplit(" ", 1)
            frames = frames.split(";")
            end = len(frames) - 1 - frames[::-1].index("-")
            found.append((frames[0], frames[1], frames[2:end], frames[end + 1:], int(count)))
        return found

    def of_counts(self):
        """Of each process, kernel, offset and reason, over all stacks: exact. What is of no code is said to be so."""
        wanted, found = collections.Counter(), collections.Counter()
        kernels = self.kernel_frames()
        for program in self.programs:
            for (_, name, offset, reason), count in program.samples().items():
                wanted[program.pid, name, offset, reason] += count
            for _, address, offset, counts in program.rows:
                owner = [name for (_, name), begin in program.addresses.items() if begin == address]
                place = offset if owner else address + offset & 0xffffffff
                for reason, count in counts.items():
                    wanted[program.pid if owner else 0, owner[0] if owner else None, place, reason] += count
        for _, pid, _, device, count in self.folded():
            kernel, reason, place = device[-4], device[-2].removesuffix("_[g]"), device[-1].removesuffix("_[g]")
            if kernel == "[unknown code]_[G]":
                found[0, None, int(place, 16), reason] += count
                continue
            program, name = kernels.get((int(pid) if pid.isdigit() else pid, kernel), (None, kernel))
            found[program.pid if program else pid, name, int(place, 16), reason] += count
        if not wanted or found != wanted:
            yield f"flame graph: {found - wanted} too many, {wanted - found} too few"

    def of_stacks(self):
        for process, _, stack, device, count in self.folded():
            if device[-4] == "[unknown code]_[G]":
                continue
            if process != "ze_work" or not self.path_of(stack):
                yield f"whose: {process} {stack} {device} {count}"
            name, instruction = device[-4].removesuffix("_[G]"), device[-3].split()[0].removesuffix("_[g]")
            if self.has_guest and instruction != self.zebin.name(name, int(device[-1].removesuffix("_[g]"), 16)):
                yield f"{instruction} is none at {device[-1]} of {name}"

    def of_split(self):
        """Between the two places: as many as the launches from each, or as long as these were seen to run."""
        kernels, found = self.kernel_frames(), collections.Counter()
        for _, pid, stack, device, count in self.folded():
            if device[-4] != "[unknown code]_[G]":
                program, name = kernels[int(pid), device[-4]]
                found[program.pid, name, self.path_of(stack)] += count
        estimated = self.estimate()
        for program in self.programs:
            for name in {name for _, name in program.addresses}:
                parts = [found[program.pid, name, path] for path in PATHS]
                share, wanted = parts[0] / sum(parts), estimated.get((program.pid, name))
                # each of the two GPUs rounds on its own
                if wanted is None or abs(share - wanted) > 0.02 + 4 / sum(parts):
                    yield f"{name} of {program.pid} by {list(PATHS)}: {parts}, {share:.3f}, and not {wanted}"

    def place_of(self, name, offset):
        """As a report has it: in the file where that is known."""
        return offset + self.zebin.kernels[name] if self.has_guest else offset

    def of_report(self):
        """Instructions with their reasons, of all processes and devices; and the sums of what is not sure."""
        wanted, found, rows = collections.Counter(), collections.Counter(), collections.Counter()
        for program in self.programs:
            for (device, name, offset, reason), count in program.samples().items():
                address = program.addresses[device, name]
                kernel = name if self.has_guest else f"[kernel {address:#x}]"
                wanted[kernel, self.place_of(name, offset), reason] += count
            for device, address, offset, counts in program.rows:
                name = next((name for (_, name), begin in program.addresses.items() if begin == address), None)
                rows["samples_late" if name else "samples_unknown_code"] += sum(counts.values())
                place = self.place_of(name, offset) if name else address + offset & 0xffffffff
                kernel = name if self.has_guest else f"[kernel {address:#x}]"
                for reason, count in counts.items():
                    wanted[kernel if name else "[unknown code]", place, reason] += count
        for row in self.report.get("instructions", []):
            for reason, count in row["stalls"].items():
                found[row["kernel"], row["offset"], reason] += count
        if not wanted or found != wanted:
            yield f"report: {found - wanted} too many, {wanted - found} too few"
        ledger = self.report.get("ledger", {})
        sums = {name: ledger.get(name) for name in ("samples", "samples_late", "samples_unknown_code")}
        if sums != {"samples": sum(wanted.values()), "samples_late": rows["samples_late"],
                    "samples_unknown_code": rows["samples_unknown_code"]}:
            yield f"ledger {ledger}, and not {sum(wanted.values())} with {rows}"

    def launched(self):
        """{(device, address of the kernel's begin): [(enter, path, begin and end on the device or None)]}, in the order of
        enter. Where a runtime tells of its launches, the driver's are the same ones seen from below."""
        codes = self.codes()
        processes = {row["id"]: row["process"] for row in self.kinds["thread"]}
        ends = {(row["process"], row["correlation"]): row for row in self.kinds["execution"]}
        functions = {function: path for path, function in PATHS.items()}
        found = collections.defaultdict(list)
        for row in sorted(self.kinds["launch"], key=lambda row: row["enter"]):
            code = codes.get(row["kernel"])
            path = functions.get(row["function"]) if self.has_guest else self.paths.get(row["stack"])
            if not code or row["command"] != "kernel" or path is None:
                continue
            end = ends.get((processes[row["thread"]], row["correlation"])) if self.has_guest else None
            found[self.devices[code["device"]], code["address"]].append(
                (row["enter"], path, (end["started"], end["ended"]) if end else None))
        return found

    @staticmethod
    def share_of(row, launches, comes):
        """The part of a row's samples that is of the first place, by the rule of docs/design/account.md; None: nobody launched
        it. comes: when its code was first there."""
        begin, end, second = row["begin"], row["end"], 10 ** 9
        last = comes + second if comes >= end else end
        ran = [(path, min(end, run[1]) - max(begin, run[0])) for _, path, run in launches if run]
        for parts in ([(path, ns) for path, ns in ran if ns > 0],
                      [(path, 1) for enter, path, _ in launches if begin - second <= enter <= end],
                      [(path, 1) for enter, path, _ in launches if enter < begin - second][-64:],
                      [(path, 1) for enter, path, _ in launches if end < enter <= last]):
            if parts:
                return sum(weight for path, weight in parts if path == "launch_forward") / sum(weight for _, weight in parts)
        return None

    def estimate(self):
        """{(pid, kernel's name): the share of its samples that is of the first place}; not there where any row's is not known."""
        launched, comes = self.launched(), {}
        for row in self.kinds["code"]:
            if row.get("address") and row.get("device"):
                key = self.devices[row["device"]], row["address"]
                comes[key] = min(comes.get(key, row["begin_ns"]), row["begin_ns"])
        owners = {(device, address): (program.pid, name) for program in self.programs
                  for (device, name), address in program.addresses.items()}
        sums, first, unknown = collections.Counter(), collections.Counter(), set()
        for row in self.kinds["instruction_sample"]:
            for key, owner in owners.items():
                if key[0] != self.devices[row["device"]] or not 0 <= row["offset"] - (key[1] & 0xffffffff) < 0x2c0:
                    continue
                share = self.share_of(row, launched[key], comes.get(key, 0))
                sums[owner] += row["count"]
                first[owner] += row["count"] * (share or 0)
                unknown |= {owner} if share is None else set()
        return {owner: first[owner] / count for owner, count in sums.items() if owner not in unknown}


class RecordedOa:
    """tests/vm/oa.sh: what duet recorded of the steps that tests/vm/xe_oa.c told; complaints() yields what is wrong."""
    STAMPS, EUS = 19_200_000, 16

    def __init__(self, lines):
        self.steps = [[int(text) for text in fields] for fields in words(lines, "step", "late")]
        self.late = words(lines, "late")
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        devices = {row["id"]: row["key"] for row in rows if row["kind"] == "device"}
        self.series = {row["id"]: row for row in rows if row["kind"] == "series" and row["metric"].startswith("gpu.")}
        self.devices = {devices.get(row.get("device")) for row in self.series.values() if row["source"].startswith("OA")}
        self.rows = {}
        for row in rows:
            if row["kind"] == "counter" and row["series"] in self.series:
                name = (self.series[row["series"]]["metric"], devices.get(self.series[row["series"]].get("device")))
                self.rows.setdefault(name, []).append(row)
        losses = [row for row in rows if row["kind"] == "loss" and row["lost"] == "counter"]
        self.losses = sum(row.get("count", 0) for row in losses)
        self.gaps = [row for row in losses if "count" not in row]
        self.notes = [line for line in lines if line.startswith("info ")]

    def of(self, metric):
        return sorted(self.rows.get((metric, "0000:04:00.0"), []), key=lambda row: row["begin"])

    def wanted(self, column, times):
        """Part and whole in ns; no time passes for who has no cycles."""
        return [(took * min(step[column], ticks * times) // (ticks * times) if ticks else 0, took)
                for step in self.steps for took, ticks in [(step[0] * 10**9 // self.STAMPS, step[1])]]

    def complaints(self):
        for metric, column, times in (("gpu.busy", 2, 1), ("gpu.eu.active", 3, self.EUS), ("gpu.eu.stalled", 4, self.EUS)):
            found = [(row["value"], row["of"]) for row in self.of(metric)]
            if not found or found != self.wanted(column, times):
                yield f"{metric} is {found}, and not {self.wanted(column, times)}"
        clocks = [row["value"] for row in self.of("gpu.clock")]
        if clocks != [step[1] * self.STAMPS // step[0] for step in self.steps]:
            yield f"clocks {clocks} of {self.steps}"
        if self.losses != 4 or len(self.late) != 1:
            yield f"{self.losses} losses"
        # the end of the stream: behind the row that was late, before those that came again
        late, again = [self.of("gpu.clock")[i] for i in (20, 21)] if len(clocks) > 21 else [None, None]
        if [row["reason"] for row in self.gaps] != ["gap"] or not late or \
                not late["begin"] < self.gaps[0]["begin"] < self.gaps[0]["end"] <= again["begin"]:
            yield f"gaps {self.gaps} between {late} and {again}"
        if not any("gt0: 33 reports" in note and "lost some 1 times" in note and "again 1 times" in note
                   for note in self.notes):
            yield f"noted {self.notes}"


class Debugged:
    """tests/vm/debug.sh: what duet recorded as the debugger of tests/vm/xe_debug.c; complaints() yields what is wrong."""
    THREADS, KERNELS, SECOND = 24, 3, 0x800000100000

    def __init__(self, lines, path):
        self.lines, self.zebin = lines, Zebin(path)
        self.names = {int(address, 16): name for name, address in words(lines, "code")}
        self.scripted = {int(address, 16): (int(offset), [int(count) for count in counts])
                         for address, offset, *counts in words(lines, "scripted")}
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        self.kernels = [row for row in rows if row["kind"] == "code" and row["type"] == 5 and row["name"]]
        self.binaries = [row for row in rows if row["kind"] == "code" and row["type"] == 2]
        series = {row["id"] for row in rows if row["kind"] == "series" and row["metric"] == "gpu.eu.threads"}
        self.threads = [row["value"] for row in rows if row["kind"] == "counter" and row["series"] in series]
        self.stalls = [line.removeprefix("stall ") for line in lines if line.startswith("stall ")]
        self.notes = [line for line in lines if line.startswith("info ")]

    def complaints(self):
        if len(self.names) != 2 * self.KERNELS or not {self.names[address] for address in self.scripted}:
            yield f"kernels {self.names}, scripted {self.scripted}"
            return
        yield from self.of_codes()
        yield from self.of_samples()
        yield from self.of_threads()
        yield from self.of_others()

    def of_codes(self):
        found = {row["address"]: row["name"] for row in self.kernels}
        ended = {row["address"] for row in self.kernels if "end_ns" in row}
        if found != self.names or len(self.kernels) != len(self.names):
            yield f"code objects {self.kernels}, and not {self.names}"
        elif not {address for address in self.names if address >= self.SECOND} <= ended:
            yield f"what was unbound has not ended: {self.kernels}"
        if len(self.binaries) != 2:
            yield f"binaries {self.binaries}"

    def of_samples(self):
        """Names and instructions are those of the code object, which nobody else knows; the stack is the driver's."""
        wanted, found = collections.Counter(), collections.Counter()
        for address, (offset, counts) in self.scripted.items():
            for reason, count in zip(Stalls.REASONS, counts):
                if count:
                    wanted[self.names[address], offset, reason] += count
        for line in self.stalls:
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")
            name, instruction, reason, place = (frame.rsplit("_[", 1)[0] for frame in frames[-4:])
            found[name, int(place, 16), reason] += int(count)
            if name not in self.zebin.kernels or instruction.split()[0] != self.zebin.name(name, int(place, 16)):
                yield f"{instruction} of {name}: {line}"
            if "run_kernel" not in frames or "xe_exec_ioctl_[k]" not in frames:
                yield f"whose: {line}"
        if found != wanted:
            yield f"samples {found - wanted} too many, {wanted - found} too few"

    def of_threads(self):
        if not self.threads or set(self.threads) != {self.THREADS}:
            yield f"threads {self.threads}"
        if not any(f"threads stopped {len(self.threads)} times" in note for note in self.notes):
            yield f"noted {self.notes}"

    def of_others(self):
        """Nobody waits for ever, whoever goes: neither for a fence nor for threads that stand still."""
        if len(words(self.lines, "fences")) != 2 or len(words(self.lines, "went-on")) != 1:
            yield f"fences {words(self.lines, 'fences')}, went on {words(self.lines, 'went-on')}"
        if words(self.lines, "left") != [["0", "0"], ["0", "0"]]:
            yield f"left {words(self.lines, 'left')}"
        if words(self.lines, "debugged") != [["1"]] or len(words(self.lines, "survived")) != 1:
            yield "a program did not survive the recorder that was its debugger"
        refused = {number: " ".join(" ".join(rest) for first, *rest in words(self.lines, "refused") if first == number)
                   for number in "01"}
        for number, says in (("0", "has no interface for debuggers"), ("1", "debugging is switched off")):
            if says not in refused[number]:
                yield f"nothing of '{says}' in {refused[number]}"


class RecordedSet:
    """tests/vm/oa.sh: what duet recorded by a metric set of the driver's list, which the second GPU has and the first has not."""
    PREFIX, NAME, DEVICE = "set ", "01234567-89ab-cdef-0123-456789abcdef", "0000:04:00.0"
    NAMES = {}
    LISTED = [[NAME, DEVICE]]

    def __init__(self, lines):
        lines = [line.removeprefix(self.PREFIX) for line in lines if line.startswith(self.PREFIX)]
        self.listed = [fields[:2] for fields in words(lines, "list")]
        self.steps = [[int(text) for text in fields] for fields in words(lines, "step")]
        self.notes = [line for line in lines if line.startswith("info ")]
        rows = [json.loads(line.removeprefix("row ")) for line in lines if line.startswith("row ")]
        devices = {row["id"]: row["key"] for row in rows if row["kind"] == "device"}
        self.series = {row["id"]: (row["metric"], row["instance"], devices.get(row.get("device")))
                       for row in rows if row["kind"] == "series" and row["source"].startswith("OA")}
        self.rows = {}
        for row in sorted((row for row in rows if row["kind"] == "counter"), key=lambda row: row["begin"]):
            if row["series"] in self.series:
                self.rows.setdefault(self.series[row["series"]], []).append(row["value"])

    def complaints(self):
        if self.listed != self.LISTED:
            yield f"listed {self.listed}"
        for counter in range(64):
            column = {3: 2, 5: 3}.get(counter)
            wanted = [step[column] if column else 0 for step in self.steps]
            found = self.rows.get(("gpu.oa.counter", f"gt0 {self.NAMES.get(counter, f'PEC{counter}')}", self.DEVICE))
            if len(wanted) != 10 or found != wanted:
                yield f"counter {counter} is {found}, and not {wanted}"
        others = {key[0] for key in self.rows} - {"gpu.oa.counter", "gpu.clock"}
        if others:
            yield f"{others} by a set that may count something else there"
        if not any(f"metric set {self.NAME}" in note for note in self.notes) or \
                not any(f"no metric set '{self.NAME}'" in note for note in self.notes):
            yield f"noted {self.notes}"


class NamedSet(RecordedSet):
    """… by its name in Intel's library of sets (sim/igdmd), which knows the second GPU alone, and two counters of it."""
    PREFIX, NAME = "named ", "SimBasic"
    NAMES = {3: "GpuBusyTicks", 5: "EuActiveTicks"}
    LISTED = [[name, RecordedSet.DEVICE] for name in ("SimBasic", "SimSmall", RecordedSet.NAME)]

    def __init__(self, lines):
        super().__init__(lines)
        lines = [line.removeprefix(self.PREFIX) for line in lines]
        self.listed_by = {when: [fields[0] for fields in words(lines, when) if fields and not fields[0].startswith("/")]
                          for when in ("meanwhile", "after")}

    def complaints(self):
        yield from super().complaints()
        if any(names != [RecordedSet.NAME] for names in self.listed_by.values()):
            yield f"in the driver's list: {self.listed_by}"


def complaints_of_doctor(lines):
    """tests/vm/oa.sh: of each machine, whether Intel's GPUs can be recorded, and checks that have to be there."""
    wanted = {"root": (True, {"rights": True, "eu_stalls": True, "oa": True, "submissions": True}, "are recorded through its functions' types"),
              "user": (False, {"rights": False, "eu_stalls": True, "oa": True, "submissions": False}, "sysctl dev.xe.observation_paranoid=0"),
              "open": (True, {"rights": True, "eu_stalls": True, "oa": True, "submissions": False}, "are not recorded: more rights are needed"),
              "old": (True, {"rights": True, "eu_stalls": False, "oa": True}, "since Linux 6.15"),
              "oldest": (True, {"rights": True, "eu_stalls": False, "oa": False}, "since Linux 6.11")}
    found = {name: json.loads(" ".join(rest)) for name, *rest in words(lines, "doctor")}
    for name, (available, checks, says) in wanted.items():
        rows = [row for row in found.get(name, {"collectors": []})["collectors"] if row["name"] == "intel"]
        told = {check["name"]: check["ok"] for row in rows for check in row["checks"]}
        if [row["available"] for row in rows] != [available] or {what: told.get(what) for what in checks} != checks:
            yield f"{name}: {rows}"
        elif says not in json.dumps(rows):
            yield f"{name}: nothing of '{says}' in {rows}"
