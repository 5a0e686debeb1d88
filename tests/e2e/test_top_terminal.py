#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""duet top in a terminal, which tmux provides: pictures, keys, resizing, kinds of terminals, and whether the terminal is
given back after a key, a signal and a crash."""
import re
import shutil
import time

import duet_test
from duet_test import DUET, run, text

if not shutil.which("tmux"):
    print("1..0 # SKIP no tmux (tmux)")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

LINES = ["window 0 2000000000", "frame 1 python main file=app.py line=7", "frame 2 python load_batch file=data.py line=31",
         "stack 1 1", "stack 2 1 2", "device 1 gpu", "thread 1 1", "queue 1 1"]
for number in range(180):
    AT = 10_000_000 * (number + 1)
    LINES += [f"launch {number} 1 1 {AT} {AT + 1000} kernel name=saxpy stack=1",
              f"execution 1 {number} 1 {AT + 1000} {AT + 1200} {AT + 2000} {AT + 4_000_000}"]


class Terminal:
    """A session of tmux with a shell whose first prompt has been printed."""

    def __init__(self, name, columns, rows, term="screen-256color", **environment):
        self.name, self.socket = name, t.path("tmux")
        variables = {"LC_ALL": "C.UTF-8", "TERM": term, "PS1": "ready> ", **environment}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", str(columns), "-y", str(rows), "env",
                  *("=".join(pair) for pair in variables.items()), "sh", "-i")
        self.wait("ready>")

    def tmux(self, *arguments):
        result = run(["tmux", "-S", self.socket, *arguments], env={"LC_ALL": "C.UTF-8"})
        t.equal(result.status, 0, f"tmux {arguments[0]}: {text(result.stderr)}")
        return result.stdout.decode("utf-8", "replace")

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", "-t", self.name, *options)

    def wait(self, pattern):
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            found = self.screen()
            if re.search(pattern, found, re.M):
                return found
            time.sleep(0.1)
        t.true(False, f"no {pattern!r} within 40 s in:\n{self.screen()}")
        return self.screen()

    def press(self, *keys):
        self.tmux("send-keys", "-t", self.name, *keys)

    def type(self, line):
        self.tmux("send-keys", "-t", self.name, "-l", line)
        self.press("Enter")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows))

    def close(self):
        self.tmux("kill-session", "-t", self.name)


TRACE = t.described("top.duet", *LINES)
TOP = f"{DUET} top {TRACE}"


def opened(name, columns=80, rows=24, **more):
    terminal = Terminal(name, columns, rows, **more)
    terminal.type(f"stty -a > {t.path(name)}.before; {TOP}")
    terminal.wait("^ DEVICE ")
    return terminal


def given_back(terminal, name, status, has_screens=True):
    """The shell works again: modes, echo, and the line that ended the program."""
    terminal.type(f"echo status=$?; stty -a > {t.path(name)}.after; echo done")
    found = terminal.wait(r"^done")
    t.true(re.search(f"^status={status}$", found, re.M), f"status {status}: {found}")
    with open(t.path(name) + ".before") as before, open(t.path(name) + ".after") as after:
        t.equal(after.read(), before.read(), "modes of the terminal")
    t.true("echo done" in found.replace("\n", ""), "the shell echoes what is typed")
    t.true(" DEVICE " not in found or not has_screens, "the normal screen is back")
    terminal.close()


with t.case("80x24"):
    ONE = opened("small")
    SCREEN = ONE.wait("^ PROCESS ")
    ROWS = SCREEN.split("\n")
    t.true(ROWS[0].startswith(" duet top  "), ROWS[0])
    t.true(re.search(r"^ gpu +█+·+ +\d+\.\d %", SCREEN, re.M), SCREEN)
    t.true(re.search(r"^   idle \d+ % ", SCREEN, re.M), SCREEN)
    t.true(" q quit" in ROWS[23], ROWS[23])
    t.true(all(len(row) <= 80 for row in ROWS), "rows fit")

with t.case("80x24: what waits, all causes of idle time, and keys"):
    t.true(re.search(r"^ PROCESS .* BLOCKED$", SCREEN, re.M), SCREEN)
    t.true(" r record" in ROWS[23] and "Space freeze" in ROWS[23], ROWS[23])
    ONE.press("6")
    ONE.wait("^ IDLE BECAUSE ")
    ONE.press("1")
    ONE.wait("^ PROCESS ")

with t.case("inside of a process its kernels have their longest run; Esc acts at once beside a message"):
    ONE.press("Enter")
    t.true(re.search(r"^ saxpy .* 3\.998 ms +3\.998 ms$", ONE.wait("^ KERNEL "), re.M), ONE.screen())
    ONE.press("+")
    ONE.wait("each picture shows 2 s now")
    ONE.press("Escape")
    t.true("each picture shows" not in ONE.wait("^ PROCESS "), "the message goes too")
    ONE.press("-")
    ONE.wait("each picture shows 1 s now")

with t.case("keys: views, sorting, finding, help, freezing"):
    ONE.press("2")
    t.true("saxpy" in ONE.wait("^ KERNEL "), "the kernel")
    ONE.press("s")
    ONE.wait("▼RUNS/s")
    ONE.type("/no-such")
    ONE.wait("no row contains")
    ONE.press("Escape")
    ONE.wait("^ saxpy")
    ONE.press("?")
    ONE.wait("any key goes back")
    ONE.press("x")
    ONE.wait("^ KERNEL ")
    ONE.press("Space")
    ONE.wait("FROZEN")
    ONE.press("Space")
    ONE.press("Enter")
    t.true("saxpy was launched by" in ONE.wait("main .app.py:7."), "the stack")
    ONE.press("Escape")
    ONE.wait("^ KERNEL ")

with t.case("r without a process says what to do"):
    ONE.press("2")
    ONE.press("r")
    ONE.wait("choose one in the list first")

with t.case("resizing draws anew"):
    ONE.resize(200, 60)
    LARGE = ONE.wait("^ COUNTER |COPY ")
    t.true(all(word in LARGE for word in ("PROCESS ", "KERNEL ", "QUEUE ")), "all views")
    t.true(re.search(r"^   idle \d+ %, because:", LARGE, re.M), "causes with meanings")
    ONE.resize(40, 10)
    SMALL = ONE.wait("^ q quit  . help  Tab view  Enter open$")
    t.true(SMALL.startswith(" duet top") and all(len(row) <= 40 for row in SMALL.split("\n")), f"a small screen: {SMALL}")
    ONE.resize(80, 24)
    ONE.wait("Space freeze")

with t.case("q gives the terminal back"):
    ONE.press("q")
    ONE.wait("^ready>$")
    given_back(ONE, "small", 0)

with t.case("r writes a complete recording"):
    ONE = Terminal("keep", 120, 24)
    ONE.type(f"cd {t.folder}; {DUET} top -- sleep 30")
    ONE.wait("^ sleep ")
    ONE.press("r")
    NAME = re.search(r"top-\d+\.duet", ONE.wait(r"s are in top-\d+.duet")).group(0)
    t.true("damage    none" in text(run([DUET, "info", t.path(NAME)]).stdout), "no damage")
    t.equal(run([DUET, "report", t.path(NAME)]).status, 0, "duet report finds it complete")
    ONE.press("q")
    ONE.wait("'sleep' continues")
    ONE.close()

for TERM, ENVIRONMENT, BAR, COLOUR in (("xterm", {}, "█", True), ("vt100", {}, "#", False),
                                       ("xterm-256color", {"NO_COLOR": "1"}, "█", False),
                                       ("screen", {"LC_ALL": "C"}, "#", True)):
    with t.case(f"TERM={TERM} {' '.join('='.join(pair) for pair in ENVIRONMENT.items())}"):
        ONE = opened(TERM, term=TERM, **ENVIRONMENT)
        t.true(BAR in ONE.wait(r"^ gpu +\S+ +\d+\.\d %"), "bars")
        t.equal(bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", ONE.screen("-e"))), COLOUR, "colours")
        ONE.press("q")
        ONE.wait("^ready>$")
        given_back(ONE, TERM, 0, TERM != "vt100")

for SIGNAL, STATUS in (("TERM", 0), ("INT", 0), ("HUP", 0), ("SEGV", 139), ("ABRT", 134)):
    with t.case(f"SIG{SIGNAL} gives the terminal back"):
        NAME = f"signal-{SIGNAL}"
        ONE = Terminal(NAME, 80, 24)
        ONE.type(f"stty -a > {t.path(NAME)}.before; ulimit -c 0; sh -c 'echo $$ > {t.path(NAME)}; exec {TOP}'")
        ONE.wait("^ DEVICE ")
        with open(t.path(NAME)) as FILE:
            run(["kill", f"-{SIGNAL}", FILE.read().strip()])
        ONE.wait("^ready>$")
        given_back(ONE, NAME, STATUS)

with t.case("a terminal without cursor movement gets an explanation"):
    ONE = Terminal("dumb", 80, 24, term="dumb")
    ONE.type(TOP)
    t.true("--batch" in ONE.wait("cannot show a screen").replace("\n", ""), "the remedy")
    ONE.close()

with t.case("without a terminal"):
    RESULT = run([DUET, "top", TRACE])
    t.equal(RESULT.status, 1, "status")
    t.true("are not a terminal" in text(RESULT.stderr) and "--batch" in text(RESULT.stderr), text(RESULT.stderr))

run(["tmux", "-S", t.path("tmux"), "kill-server"])
t.end()
