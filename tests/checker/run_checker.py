#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the checker over described and over random traces; prints TAP.

    tests/checker/run_checker.py --duet DUET --make-trace PROGRAM [--random N] [--seed S] FILE ...
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_account  # noqa: E402


UNDESCRIBED_QUEUE = 77


def random_thread(generator, lines, process, thread, state):
    """One thread's calls and launches, in sequence; its commands run anywhere behind them."""
    now = generator.randrange(0, 300)
    # Now and then so many calls that the report merges those it need not tell apart.
    for _ in range(generator.randrange(*generator.choice(((5, 40), (5, 40), (5, 40), (150, 250))))):
        now += generator.choice((0, 1, 7, 50, 400))
        length = generator.choice((0, 1, 3, 20, 300))
        if generator.random() < state["calls"]:
            kind = generator.choice(("call", "wait", "signal"))
            finished = f" queue={generator.randrange(1, state['queues'] + 2)}" \
                if kind == "wait" and generator.random() < 0.3 else f" event={generator.randrange(6, 9)}" if kind == "signal" else ""
            failed = " result=-5" if generator.random() < 0.1 else ""
            lines.append(f"call {thread} {now} {now + length} {kind} f{generator.randrange(4)}"
                         f"{failed}{finished}")
            if generator.random() < 0.2:
                inner = generator.randrange(now, now + length + 1)
                lines.append(f"call {thread} {inner} {inner + 5} wait nested")
        else:
            random_launch(generator, lines, process, thread, now, now + length, state)
        if generator.random() < state["sections"]:
            begin = generator.randrange(now, now + length + 2)
            lines.append(f"call {thread} {begin} {begin + generator.choice((0, 1, 4, 60))} duet s{generator.randrange(2)}")
        if state["overheads"] and state["overheads"].random() < 0.3:
            begin = state["overheads"].randrange(now, now + length + 2)
            lines.append(f"range {thread} {begin} {begin + state['overheads'].choice((0, 1, 4, 60, 500))} o domain=CUPTI"
                         " type=start category=profiler%20overhead")
        now += length


def random_launch(generator, lines, process, thread, enter, leave, state):
    """Handles up to 5 are those of launches; 6, 7 and 8 are events that calls set."""
    correlation = state["next"] = state["next"] + 1
    queue = generator.randrange(1, state["queues"] + 1)
    # Now and then one that this process has used before, in the same queue; two wait lists of one id would be one.
    used = state["used"].setdefault((process, queue), [])
    if used and generator.random() < state["again"]:
        correlation = generator.choice(used[-4:])
    used.append(correlation)
    has_run = generator.random() < 0.9
    named = queue if has_run or generator.random() < 0.6 else UNDESCRIBED_QUEUE
    kind = generator.choice(("kernel", "kernel", "read", "write", "barrier"))
    handle = generator.randrange(0, 6)
    name = f" name=k{generator.randrange(3)}" if kind == "kernel" else ""
    lines.append(f"launch {correlation} {thread} {named} {enter} {leave} {kind}{name}"
                 f" bytes={generator.randrange(100)} handle={handle}"
                 f" blocking={generator.randrange(2)}"
                 f" result={-5 if generator.random() < 0.05 else 0}")
    for _ in range(0 if state["again"] else generator.choice((0, 0, 1, 2))):
        lines.append(f"wait {process} {correlation} {enter} {generator.randrange(1, 9)}")
    if has_run:
        random_execution(generator, lines, process, correlation, queue, enter, state["crowd"])


def random_execution(generator, lines, process, correlation, queue, enter, crowd):
    times = [enter]
    for _ in range(4):
        times.append(times[-1] + generator.choice((0, 1, 2, 10, 100, 700)))
    times[4] += generator.randrange(crowd + 1)
    stamps = [str(time) for time in times[1:]]
    chance = generator.random()
    if chance < 0.05:
        stamps = ["-"] * 4
    elif chance < 0.1:
        stamps[:2] = ["-", "-"]
    elif chance < 0.15:
        stamps[generator.randrange(2)] = "-"
    elif chance < 0.2:
        stamps[2], stamps[3] = str(times[4] + 1), str(times[3])
    status = -14 if generator.random() < 0.05 else 0
    lines.append(f"execution {process} {correlation} {queue} {' '.join(stamps)}"
                 f" status={status} seen={times[4] + generator.randrange(50)}")


def random_switches(generator, lines, thread):
    """Comings and goings, mostly in turn."""
    now = generator.randrange(0, 1500)
    is_there = generator.random() < 0.5
    for _ in range(generator.choice((0, 3, 40, 40))):
        kind = generator.choice(("blocked", "preempted")) if is_there else "in"
        said = generator.choice(("", " wait=futex", " wait=poll", f" wait=lock holder={thread % 3 + 1}"))
        lines.append(f"switch {thread} {now} {kind}{said if kind == 'blocked' else ''}")
        if generator.random() < 0.9:
            is_there = not is_there
        if generator.random() < 0.3:
            lines.append(f"sample {thread} {now + generator.randrange(20)} 5")
        now += generator.choice((1, 5, 60, 400))
    if generator.random() < 0.3:
        lines.append(f"switch {thread} {now} exited")


def random_instructions(generator, lines, process):
    for _ in range(generator.choice((0, 10, 60))):
        count = f" count={generator.randrange(1, 4)}" if generator.random() < 0.2 else ""
        stall = f" stall=s{generator.randrange(2)}" if generator.random() < 0.3 else ""
        device = " device=1" if generator.random() < 0.2 else ""
        lines.append(f"instruction {process} {generator.randrange(6000)} k{generator.randrange(4)}"
                     f" {generator.randrange(5) * 4}{count}{stall}{device}")


def random_waits(seed):
    """A thread that launches now and then, and waits for others in between."""
    generator = random.Random(seed)
    lines = ["window 0 4000", "device 1 gpu", "queue 1 1 context=1"] + [f"thread {thread} 1" for thread in (1, 2, 3)]
    lines.append("sample 1 0 1")
    now = 10
    for number in range(1, generator.randrange(2, 12)):
        for _ in range(generator.randrange(4)):
            said = generator.choice(("", "", " wait=futex", " wait=poll holder=9",
                                     " wait=lock holder=2", " wait=lock holder=3"))
            now += generator.randrange(1, 50)
            lines.append(f"switch 1 {now} {generator.choice(('blocked', 'blocked', 'preempted'))}{said}")
            away = generator.choice((5, 80, 900))
            for _ in range(generator.randrange(3)):
                lines.append(f"sample {generator.choice((2, 3))} {now + generator.randrange(away)} 5")
            now += away
            if generator.random() < 0.9:
                lines.append(f"switch 1 {now} in")
        lines.append(f"launch {number} 1 1 {now} {now + 9} kernel name=k")
        started = now + generator.randrange(9)
        lines.append(f"execution 1 {number} 1 {now} {now} {started} {started + 60}")
        now += generator.choice((10, 30, 200))
    return "\n".join(lines) + "\n"


def random_wakings(seed):
    """Threads that wait for each other and are preempted, one of which launches. No two things happen at once, so that
    nobody may ask which was first."""
    generator = random.Random(seed)
    threads = range(1, generator.randrange(3, 8))
    others = ["", "", " waker_name=interrupt", " waker_name=dd%20(process%207)", " waker=99 waker_name=gone"]
    lines = ["window 0 9000", "device 1 gpu", "queue 1 1 context=1"]
    lines += [f"thread {thread} {2 - thread % 2} name=t{thread}" for thread in threads]
    lines += [f"sample {thread} {thread} 1" for thread in threads]
    moments = iter(sorted(generator.sample(range(20, 8000), 320)))
    # who waits long is woken by who was woken by others
    away, number, last, haste = {}, 0, 2, generator.choice((0.08, 0.3))
    for now in moments:
        thread = 1 if generator.random() < haste else generator.choice(threads[1:])
        if thread == 1 and 1 not in away and generator.random() < 0.3:
            away.pop(1, None)
            number += 1
            lines.append(f"launch {number} 1 1 {now} {next(moments, 8001)} kernel name=k")
            started = next(moments, 8002)
            lines.append(f"execution 1 {number} 1 {now} {now} {started} {next(moments, 8003)}")
        elif thread in away and generator.random() < 0.95:
            waker = generator.choice([f" waker={one}" for one in threads if one != thread] * 2 + others)
            # one that was preempted is woken by nobody, and should a file say so nobody believes it
            if last != thread and generator.random() < 0.6:
                waker = f" waker={last}"
            if away.pop(thread) == "preempted" and generator.random() < 0.8:
                waker = ""
            else:
                last = thread
            lines.append(f"switch {thread} {now} in{waker}")
        elif generator.random() < 0.03:
            away.pop(thread, None)
            lines.append(f"call {thread} {now} {next(moments, 8001)} call f")
        else:
            reason = generator.choice(("blocked", "blocked", "preempted"))
            said = generator.choice(("", " wait=futex", " wait=futex", " wait=poll", f" wait=lock holder={generator.choice(threads)}"))
            if reason == "preempted":
                said = generator.choice(("", " wait=stress%20(process%205)", " wait=make%20(process%206)",
                                         f" wait=program%20(process%201001) holder={generator.choice(threads)}"))
            lines.append(f"switch {thread} {now} {reason}{said}")
            away.setdefault(thread, reason)
    return "\n".join(lines) + "\n"


def random_processors(seed):
    """The threads of a machine, which have its processors one at a time; and as a recorder writes them, those whose going
    the kernel did not report."""
    generator = random.Random(seed)
    processors = generator.randrange(1, 4)
    threads = list(range(1, generator.randrange(3, 9)))
    lines = ["window 0 5000"] + [f"thread {thread} {1 + thread % 2} name=t{thread}" for thread in threads]
    has, unseen, now = [None] * processors, 0, 0
    while now < 4900 and threads:
        now += generator.choice((1, 3, 20, 200))
        processor = generator.randrange(processors)
        gone = has[processor]
        if gone:
            how = generator.choice(("blocked", "preempted", "blocked", "exited" if now > 2000 else "blocked", "unseen"))
            since, thread = gone
            lines.append(f"switch {thread} {generator.randrange(since, now + 1) if how == 'unseen' else now} {how}"
                         f" cpu={processor}")
            unseen += how == "unseen"
            if how == "exited":
                threads.remove(thread)
        has[processor] = None
        # no thread comes in the moment in which it goes
        idle = [thread for thread in threads if thread != (gone and gone[1]) and thread not in
                [one[1] for one in has if one]]
        if idle and generator.random() < 0.7:
            has[processor] = now, generator.choice(idle)
            lines.append(f"switch {has[processor][1]} {now} in cpu={processor}")
    if unseen:
        lines.append(f"loss switch {unseen} unseen=1")
    return "\n".join(lines) + "\n"


def random_code(generator, lines, processes, devices, horizon):
    """Kernels on devices: told whole, by name or by address alone, at places that come again. Returns their ids by
    process and device."""
    found = {}
    for number in range(201, 201 + generator.randrange(1, 12)):
        process, device = generator.randrange(1, processes + 1), generator.randrange(1, devices + 1)
        address = 0x1000 * generator.randrange(1, 5) + generator.choice((0, 0, 0x100, 0x180))
        address += (process * 2 + generator.choice((0, 0, 1))) << 32
        begin = generator.choice((0, 0, generator.randrange(horizon)))
        end = generator.choice((0, 0, begin + generator.randrange(1, horizon)))
        told = generator.choice(("name", "name size", "address"))
        name = f" name=k{generator.randrange(3)}" if "name" in told else ""
        size = generator.choice((0x40, 0x200, 0x1000)) if "size" in told else 0
        lines.append(f"code {number} {process} {device} {address:#x} {size} {begin} {end}{name}")
        found.setdefault((process, device), []).append((number, bool(name)))
    return found


def random_addresses(seed):
    """Samples that tell an address and a window, of kernels that runtimes and drivers launch. Some runs are seconds long, so that what
    was launched before counts or does not."""
    generator = random.Random(seed)
    horizon = generator.choice((5000, 4 * 10 ** 9, 60 * 10 ** 9))
    processes, devices = generator.randrange(1, 4), generator.randrange(1, 3)
    lines = [f"window 0 {horizon}"] + [f"device {device} gpu{device}" for device in range(1, devices + 1)]
    lines += [f"frame {number} jit s{number}" for number in range(1, 6)]
    lines += [f"stack {number} {number}" for number in range(1, 6)]
    for process in range(1, processes + 1):
        lines.append(f"thread {process} {process}")
        lines += [f"queue {process * 3 + device} {device} process={process}" for device in range(1, devices + 1)]
    codes = random_code(generator, lines, processes, devices, horizon)
    most = generator.choice((12, 12, 12, 300))
    launched = []
    # no two calls of a thread at once, so that nobody may ask which was around which
    moments = {process: iter(generator.sample(range(0, horizon, 4), min(1200, horizon // 4)))
               for process in range(1, processes + 1)}
    for (process, device), kernels in codes.items():
        for number in range(1, generator.randrange(1, most)):
            code, named = generator.choice(kernels)
            # the driver knows no names; a runtime always does
            part = " part=1 function=submit" if not named or generator.random() < 0.1 else ""
            enter = next(moments[process])
            has_run = generator.random() < 0.5
            untimed = " untimed=1" if not has_run and generator.random() < 0.5 else ""
            launched.append(f"launch {number + device * 1000} {process} {process * 3 + device} {enter} {enter + 3} kernel"
                            f" code={code} stack={generator.randrange(1, 6)}{part}{untimed}")
            if part and generator.random() < 0.5:
                lines.append(f"launch {number + device * 1000 + 500} {process} {process * 3 + device} {enter} {enter + 3}"
                             f" batch function=submit{untimed}")
            if has_run:
                started = enter + 3 + generator.randrange(horizon // 50)
                ended = started + 1 + generator.randrange(horizon // 20)
                lines.append(f"execution {process} {number + device * 1000 + (500 if part else 0)}"
                             f" {process * 3 + device} {enter + 3} {enter + 3} {started} {ended}")
    lines += launched
    length = horizon // 40
    for _ in range(generator.choice((5, 60))):
        begin = length * generator.randrange(40)
        end = begin + generator.choice((length, length, 0))
        address = 0x1000 * generator.randrange(1, 5) + 8 * generator.randrange(0, 0x60)
        lines.append(f"address {generator.randrange(1, devices + 1)} {begin} {end} {address:#x}"
                     f" count={generator.choice((1, 1, 2, 7, 1000))} stall=r{generator.randrange(2)}")
    return "\n".join(lines) + "\n"


def random_trace(seed):
    generator = random.Random(seed)
    state = {"queues": generator.randrange(1, 5), "next": 0,
             # a generator of its own, so that a seed has the same trace without them
             "overheads": random.Random(-seed) if seed % 3 == 1 else None,
             "calls": generator.choice((0.1, 0.4, 0.97)), "sections": generator.choice((0, 0.2, 0.6)), "crowd": 0, "switches": seed % 2,
             "used": {}, "again": generator.choice((0.01, 0.3)) if seed % 7 == 3 else 0}
    if seed % 6 == 5:
        # so many commands at once that the report counts them in another way
        state.update(calls=0.01, crowd=20000, queues=2)
    lines = []
    if generator.random() < 0.7:
        lines.append(f"window {generator.randrange(200)} {generator.randrange(3000, 9000)}")
    devices = generator.randrange(1, 3)
    lines += [f"device {i + 1} gpu{i}" for i in range(devices)]
    for queue in range(state["queues"]):
        flags = " out_of_order=1" if generator.random() < 0.3 else ""
        flags += " direct=1" if queue % 2 else ""
        lines.append(f"queue {queue + 1} {generator.randrange(devices) + 1} context=1{flags}")
    for thread in range(1, generator.randrange(2, 5)):
        process = generator.randrange(1, 3)
        lines.append(f"thread {thread} {process} end={generator.choice((0, 0, 1500, 4000))}")
        random_thread(generator, lines, process, thread, state)
        if state["switches"]:
            random_switches(generator, lines, thread)
        if seed % 2 and not state["crowd"]:
            random_instructions(generator, lines, process)
    for _ in range(generator.choice((0, 0, 1, 3)) if state["switches"] else 0):
        time = generator.randrange(1, 4000)
        lines.append(f"loss switch 7 time={time} end={time + generator.choice((1, 30, 300, 1500))}")
    for _ in range(generator.randrange(3)):
        lines.append(f"loss {generator.choice(('launch', 'execution', 'api', 'switch'))}"
                     f" {generator.randrange(4)}")
    return "\n".join(lines) + "\n"


def check(arguments, folder, description, window, cut, has_named_stacks):
    path = os.path.join(folder, "checked.duet")
    subprocess.run([arguments.make_trace, "-", path], input=description, text=True, check=True)
    if cut:
        os.truncate(path, int(os.path.getsize(path) * cut))
    return check_account.check(arguments.duet, path, window, has_named_stacks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duet", required=True)
    parser.add_argument("--make-trace", required=True)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    cases = []
    for name in arguments.files:
        with open(name, encoding="utf-8") as file:
            cases.append((os.path.basename(name), file.read(), None, None))
    for seed in range(arguments.seed, arguments.seed + arguments.random):
        window = (500, 2500) if seed % 3 == 0 else None
        # as a recorder leaves it that was killed: without its index, and some without their last rows
        cut = random.Random(seed).uniform(0.7, 0.99) if seed % 5 == 1 else None
        cases.append((f"random {seed}{', cut' if cut else ''}", random_trace(seed), window, cut))
        cases.append((f"random waits {seed}", random_waits(seed), window, None))
        cases += [(f"random addresses {seed}.{part}", random_addresses(seed * 2 + part), window, None) for part in range(2)]
        cases.append((f"random processors {seed}", random_processors(seed), window, None))
        cases += [(f"random wakings {seed}.{part}", random_wakings(seed * 5 + part), window, None) for part in range(5)]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, description, window, cut) in enumerate(cases, 1):
            try:
                differences = check(arguments, folder, description, window, cut, name.startswith("random addresses"))
            except subprocess.CalledProcessError as error:
                differences = [f"{error}: {error.stderr}"]
            for line in differences:
                print(f"#   {line}")
            failures += bool(differences)
            print(f"{'not ok' if differences else 'ok'} {number} - {name}", flush=True)
    print(f"1..{len(cases)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
