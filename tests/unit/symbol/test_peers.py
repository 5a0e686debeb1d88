#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The symbolizer against llvm-symbolizer and eu-addr2line, on programs made here and real libraries.

    test_peers.py SYMBOLIZE [ADDRESSES [LIBRARY...]]

For each address function, file and line of each frame, inlined ones included, must be what at least
one of the two says, and llvm-symbolizer must be agreed with nearly always. Where they differ:

- A function that has several symbols at its address is printed by one of them: a global one before a
  weak one before a local one, and so on (docs/design/symbol.md). The peers take DWARF's linkage name
  or the symbol that comes first. Names of symbols at one address count as equal.
- A function without linkage name (C++ in an unnamed namespace, gcc) has its symbol's name here and
  with llvm-symbolizer, its bare DW_AT_name with eu-addr2line. "run.cold" counts as "run".
- eu-addr2line finds units by .debug_aranges, which clang, -flto and split debug information leave out.
  It then has lines, but neither inlined calls nor names of DWARF.
- eu-addr2line gives padding between functions and code without debug information the line of what
  lies before. There, and where two inlined calls cover the same byte, llvm-symbolizer decides.
- llvm-symbolizer does not read the symbol table of a debug file, where local names are.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

C_SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
static inline __attribute__((always_inline)) int f5(int x) { sink = x; return sink + x; }
static inline __attribute__((always_inline)) int f4(int x) { sink++; return f5(x + 1) * 3; }
static inline __attribute__((always_inline)) int f3(int x) { int y = f4(x); sink = y; return f4(y) - 3; }
static inline __attribute__((always_inline)) int f2(int x)
{
	for (int i = 0; i < x; i++)
		x += f3(
			i +
			x);
	return x;
}
static inline __attribute__((always_inline)) int f1(int x) { return x > 3 ? f2(x) : f2(-x); }
__attribute__((noinline)) static int own(int x) { return f1(x) + f5(x); }
__attribute__((noinline)) int shared(int x) { if (x > 100000) { fprintf(stderr, "%d", x); abort(); } return own(x) ^ 7; }
int alias(int) __attribute__((alias("shared")));
int weak_alias(int) __attribute__((weak, alias("shared")));
__asm__(".text\n.globl bare\n.type bare, @function\nbare:\n nop\n nop\n ret\n");
__asm__(".text\nlabel:\n nop\n nop\n nop\n ret\n");
__attribute__((section(".text.other"), noinline)) int other(int x) { int in(int y) { sink = x; return y + x; } return in(x) + in(x * 2); }
int unused(int x) { return f1(x) * 9; }
int main(int argc, char **argv) { return alias(argc) + other(argc) + sink; }
'''

CXX_SOURCE = r'''
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
volatile int sink;
namespace outer { namespace {
template <typename T, int N> struct box {
	T value;
	box(T v) : value(v) { sink = N; }
	~box() { sink = -N; }
	template <typename F> T apply(F f) { T r = f(value); for (int i = 0; i < N; i++) r += f(r); return r; }
	T operator()(T x) const { return x * N + value; }
};
__attribute__((noinline)) int hidden(int x) { return box<int, 3>(x).apply([x](int y) { sink = y; return y ^ x; }); }
} 
struct base { virtual int run(int x) { return x; } virtual ~base() { sink = 1; } };
struct other { virtual int go(int) = 0; virtual ~other() {} };
struct derived : base, other { int run(int x) override { return hidden(x); } int go(int x) override { sink++; return x * 2 + sink; } };
}
static int work(std::vector<std::string> &names)
{
	std::map<std::string, int> counts;
	struct local { static int weigh(const std::string &s) { sink = (int)s.size(); return sink + (s.empty() ? 0 : s[0]); } };
	for (auto &name : names)
		counts[name] += local::weigh(name);
	std::sort(names.begin(), names.end(), [&](const auto &a, const auto &b) { return counts[a] < counts[b]; });
	std::function<int(int)> f = [&](int x) { auto inner = [&](int y) { return y + (int)names.size(); }; return inner(x) * inner(x + 1); };
	try {
		if (names.size() > 100)
			throw std::string("many");
	} catch (const std::string &s) {
		sink = (int)s.size();
	}
	return f((int)names.size());
}
int main(int argc, char **argv)
{
	std::vector<std::string> names(argv, argv + argc);
	outer::derived d;
	outer::other *o = &d;
	outer::base *b = &d;
	return work(names) + b->run(argc) + o->go(argc) + (int)outer::box<double, 5>(2.5)(argc);
}
'''

# name, compiler, source, options
BUILDS = [
    ("gcc -gdwarf-5", "gcc", C_SOURCE, ["-O2", "-gdwarf-5"]),
    ("gcc -gdwarf-4", "gcc", C_SOURCE, ["-O2", "-gdwarf-4"]),
    ("gcc -gdwarf-3", "gcc", C_SOURCE, ["-O2", "-gdwarf-3", "-gstrict-dwarf"]),
    ("gcc -gdwarf-2", "gcc", C_SOURCE, ["-O2", "-gdwarf-2", "-gstrict-dwarf"]),
    ("gcc -O0", "gcc", C_SOURCE, ["-O0", "-g"]),
    ("gcc -no-pie", "gcc", C_SOURCE, ["-O2", "-g", "-no-pie"]),
    ("gcc at 0x10000000, two segments", "gcc", C_SOURCE,
     ["-O2", "-g", "-no-pie", "-Wl,-Ttext-segment=0x10000000", "-Wl,-z,noseparate-code"]),
    ("gcc, dead code removed", "gcc", C_SOURCE, ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"]),
    ("gcc, compressed", "gcc", C_SOURCE, ["-O2", "-g", "-gz=zlib"]),
    ("gcc -gsplit-dwarf, 5", "gcc", C_SOURCE, ["-O2", "-gdwarf-5", "-gsplit-dwarf"]),
    ("gcc -gsplit-dwarf, 4", "gcc", C_SOURCE, ["-O2", "-gdwarf-4", "-gsplit-dwarf"]),
    ("clang -gdwarf-5", "clang", C_SOURCE, ["-O2", "-gdwarf-5"]),
    ("clang -gdwarf-4", "clang", C_SOURCE, ["-O2", "-gdwarf-4"]),
    ("clang -gdwarf-2", "clang", C_SOURCE, ["-O2", "-gdwarf-2"]),
    ("clang -gsplit-dwarf", "clang", C_SOURCE, ["-O2", "-gdwarf-5", "-gsplit-dwarf"]),
    ("clang, lines only", "clang", C_SOURCE, ["-O2", "-gline-tables-only"]),
    ("clang, lld", "clang", C_SOURCE, ["-O2", "-g", "-fuse-ld=lld"]),
    ("g++ -O2", "g++", CXX_SOURCE, ["-O2", "-g"]),
    ("g++ -O0", "g++", CXX_SOURCE, ["-O0", "-g"]),
    ("g++ -O3 -gdwarf-4", "g++", CXX_SOURCE, ["-O3", "-gdwarf-4"]),
    ("g++ -flto", "g++", CXX_SOURCE, ["-O2", "-g", "-flto"]),
    ("g++ -gsplit-dwarf", "g++", CXX_SOURCE, ["-O2", "-g", "-gsplit-dwarf"]),
    ("g++ types apart", "g++", CXX_SOURCE, ["-O2", "-g", "-fdebug-types-section"]),
    ("clang++ -O2", "clang++", CXX_SOURCE, ["-O2", "-g"]),
    ("clang++ -O3 -gdwarf-4", "clang++", CXX_SOURCE, ["-O3", "-gdwarf-4"]),
    ("clang++ -gsplit-dwarf", "clang++", CXX_SOURCE, ["-O2", "-g", "-gsplit-dwarf"]),
]

LIBRARIES = [
    "/lib/x86_64-linux-gnu/libc.so.6",  # libc6-dbg
    "/lib/x86_64-linux-gnu/libm.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6.0.30",  # libstdc++6-12-dbg
]

number = 0
failures = 0


def result(is_good, text, skip=None):
    global number, failures
    number += 1
    failures += not is_good
    print(f"{'ok' if is_good else 'not ok'} {number} - {text}" + (f" # SKIP {skip}" if skip else ""), flush=True)


def output(arguments, **options):
    environment = dict(os.environ, LC_ALL="C", DEBUGINFOD_URLS=options.pop("urls", ""))
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=300, **options)
    # eu-addr2line says 1 where it knows nothing of some address
    if done.returncode and arguments[0] != "eu-addr2line":
        raise RuntimeError(f"{arguments}: {done.stderr[:300]}")
    return done.stdout


def code_ranges(path):
    ranges = []
    for line in output(["readelf", "-SW", path]).splitlines():
        match = re.match(r"\s*\[\s*\d+\] (\S+)\s+PROGBITS\s+(\w+) \w+ (\w+) \w+\s+(\S*X\S*)\s", line)
        if match and match[1] not in (".plt", ".plt.got", ".plt.sec"):
            ranges.append((int(match[2], 16), int(match[3], 16)))
    return ranges


def sample(path, limit):
    ranges = code_ranges(path)
    size = sum(length for start, length in ranges)
    if size <= limit:
        return [start + i for start, length in ranges for i in range(length)]
    picked = sorted(random.Random(17).sample(range(size), limit))
    addresses, passed = [], 0
    for start, length in ranges:
        addresses += [start + p - passed for p in picked if passed <= p < passed + length]
        passed += length
    return addresses


def aliases(path):
    """Name -> the names at its address, from the file's own symbols or its debug file's."""
    at = {}
    debug = [path]
    match = re.search(r"Build ID: (\w+)", output(["readelf", "-n", path]))
    if match:
        debug.append(f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug")
    for file in debug:
        if os.path.exists(file):
            for line in output(["nm", file]).splitlines():
                parts = line.split(maxsplit=2)
                if len(parts) == 3:
                    at.setdefault(parts[0], set()).add(parts[2].split("@")[0])
    names = {}
    for group in at.values():
        for name in group:
            names.setdefault(name, set()).update(group)
    return names


def clean(path):
    return "??" if path in ("??", "") else os.path.normpath(path)


def feed(addresses):
    return "".join(f"{a:#x}\n" for a in addresses)


def ask_us(program, path, addresses, *options, **more):
    frames, about = {}, []
    for line in output([program, *options, path], input=feed(addresses), **more).splitlines():
        if line.startswith("0x"):
            current = frames.setdefault(int(line, 16), [])
        elif line.startswith("# "):
            about.append(line[2:])
        elif line:
            raw, _, file, number, _ = line.split("\t")
            current.append((raw, clean(file), int(number)))
    return frames, about


def place(text):
    text = text.split(" (discriminator")[0]
    match = re.match(r"(.*?):(\d+)(?::(\d+))?$", text)
    return (clean(match[1]), int(match[2])) if match else ("??", 0)


def ask_llvm(path, addresses):
    frames = {}
    lines = output(["llvm-symbolizer", "--no-demangle", "--inlines", "--functions=linkage", "-a",
                    "--obj=" + path], input=feed(addresses)).splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("0x") and ":" not in lines[at]:
            current = frames.setdefault(int(lines[at], 16), [])
            at += 1
        elif lines[at]:
            current.append((lines[at], *place(lines[at + 1])))
            at += 2
        else:
            at += 1
    return frames


def ask_elfutils(path, addresses):
    frames = {}
    lines = output(["eu-addr2line", "-i", "-f", "-a", "-e", path], input=feed(addresses)).splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("0x"):
            current = frames.setdefault(int(lines[at], 16), [])
            at += 1
        else:
            current.append((lines[at].split(" inlined at ")[0], *place(lines[at + 1])))
            at += 2
    return frames


def is_name(ours, theirs, names):
    return (ours == theirs or theirs in names.get(ours, ()) or ours.split(".")[0] == theirs.split(".")[0] or
            # an unnamed namespace: bare names
            (ours.startswith("_Z") and re.sub(r"<.*", "", theirs) in ours and not theirs.startswith("_Z")))


def agree(ours, theirs, names):
    if len(ours) != len(theirs):
        return False
    return all((a[1:] == b[1:] or (a[2] == 0 and b[2] == 0)) and is_name(a[0], b[0], names)
               for a, b in zip(ours, theirs))


def compare(program, path, addresses, text, *options, peers=("llvm", "elfutils"), share=0.99):
    """Every answer is one of the peers'; the first one agrees with `share` of them."""
    names = aliases(path)
    ours, _ = ask_us(program, path, addresses, *options)
    theirs = {"llvm": ask_llvm, "elfutils": ask_elfutils}
    answers = {peer: theirs[peer](path, addresses) for peer in peers}
    counts = {peer: 0 for peer in peers}
    lonely = []
    for address in addresses:
        good = [p for p in peers if agree(ours[address], answers[p].get(address, []), names)]
        for peer in good:
            counts[peer] += 1
        if not good:
            lonely.append(address)
    for address in lonely[:3]:
        print(f"#   {address:#x}: {ours[address]}")
        for peer in peers:
            print(f"#     {peer}: {answers[peer].get(address)}")
    total = len(addresses)
    inlined = sum(len(ours[a]) > 1 for a in addresses)
    deepest = max(len(ours[a]) for a in addresses)
    print(f"#   {total} addresses, {inlined} with inlined calls, {deepest} deep; " +
          ", ".join(f"{p} agrees with {counts[p]}" for p in peers) + f", nobody with {len(lonely)}")
    result(not lonely and counts[peers[0]] >= share * total, text)


def build(folder, name, compiler, source, options):
    path = os.path.join(folder, re.sub(r"\W+", "_", name))
    suffix = ".cc" if source is CXX_SOURCE else ".c"
    with open(path + suffix, "w") as file:
        file.write(source)
    if compiler == "clang":  # nested functions are gcc's
        with open(path + suffix, "w") as file:
            file.write(source.replace("{ int in(int y) { sink = x; return y + x; } return in(x) + in(x * 2); }",
                                      "{ return f1(x) * f5(x); }"))
    # not linked in one go: then split debug information would be named after the output
    object_file = path + ".o"
    output([compiler, *[o for o in options if not o.startswith("-Wl")], "-c", path + suffix, "-o", object_file],
           cwd=folder)
    output([compiler, *options, object_file, "-o", path, "-Wl,--build-id"], cwd=folder)
    return path


def test_builds(program, folder, limit):
    built = {}
    for name, compiler, source, options in BUILDS:
        if not shutil.which(compiler) or (name.endswith("lld") and not shutil.which("ld.lld")):
            result(True, name, "no " + ("ld.lld" if shutil.which(compiler) else compiler))
            continue
        path = built[name] = build(folder, name, compiler, source, options)
        compare(program, path, sample(path, limit), name)
    return built


def build_id(path):
    return re.search(r"Build ID: (\w+)", output(["readelf", "-n", path]))[1]


def test_separate(program, folder, whole):
    """Debug information in other files: the answers of the unstripped program."""
    addresses = sample(whole, 3000)
    want, _ = ask_us(program, whole, addresses)
    there = os.path.join(folder, "separate")
    os.mkdir(there)
    stripped, debug = os.path.join(there, "program"), os.path.join(there, "program.debug")
    identity = build_id(whole)
    debug_root = os.path.join(folder, "root")
    by_id = os.path.join(debug_root, ".build-id", identity[:2])
    os.makedirs(by_id)

    output(["objcopy", "--only-keep-debug", whole, debug])
    output(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, whole, stripped])
    got, about = ask_us(program, stripped, addresses)
    result(got == want and f"debug {debug}" in about, "debug link beside the program")

    os.mkdir(os.path.join(there, ".debug"))
    hidden = os.path.join(there, ".debug", "program.debug")
    os.rename(debug, hidden)
    got, about = ask_us(program, stripped, addresses)
    result(got == want and f"debug {hidden}" in about, "debug link in .debug")

    mirrored = os.path.join(debug_root, there[1:])
    os.makedirs(mirrored)
    os.rename(hidden, os.path.join(mirrored, "program.debug"))
    got, about = ask_us(program, stripped, addresses, "debug", debug_root)
    result(got == want and f"debug {mirrored}/program.debug" in about, "debug link below a debug folder")

    # without a build id only the checksum tells
    no_id = os.path.join(there, "no_id")
    os.rename(os.path.join(mirrored, "program.debug"), debug)
    output(["objcopy", "--remove-section=.note.gnu.build-id", debug, debug + "2"])
    output(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id",
            "--add-gnu-debuglink=" + debug + "2", whole, no_id])
    got, about = ask_us(program, no_id, addresses)
    result(got == want and f"debug {debug}2" in about, "debug link by checksum")
    with open(debug + "2", "ab") as file:
        file.write(b"\0")
    got, about = ask_us(program, no_id, addresses)
    result(got != want and "debug -" in about, "debug link of another file is left alone")

    os.rename(debug, os.path.join(by_id, identity[2:] + ".debug"))
    got, about = ask_us(program, stripped, addresses, "debug", debug_root)
    result(got == want and any(a.startswith(f"debug {by_id}") for a in about), "build id folder")
    got, about = ask_us(program, stripped, addresses, "archive", debug_root)
    result(got == want, "build id folder of an archive")

    # the program is gone: what its debug file tells about addresses of its program headers
    got, about = ask_us(program, os.path.join(there, "gone"), addresses, "debug", debug_root, "build-id", identity)
    result(got == want, "program gone, debug file by build id")
    # objcopy's debug file does not know file offsets, that of eu-strip does
    offsets = [a for a in addresses if a >= 0x1000]  # gcc's own layout: offset and address are the same
    got, about = ask_us(program, os.path.join(there, "gone"), offsets, "debug", debug_root, "build-id", identity,
                        "offsets", "yes")
    result(all(f == [("??", "??", 0)] for f in got.values()), "program gone, debug file without offsets: no names")
    kept = os.path.join(folder, "kept", ".build-id", identity[:2])
    os.makedirs(kept)
    output(["eu-strip", "-f", os.path.join(kept, identity[2:] + ".debug"), "-o", os.path.join(there, "thin"), whole])
    got, about = ask_us(program, os.path.join(there, "gone"), offsets, "debug", os.path.join(folder, "kept"),
                        "build-id", identity, "offsets", "yes")
    result(all(got[a] == want[a] for a in offsets), "program gone, debug file with offsets")
    shutil.copy(stripped, os.path.join(by_id, identity[2:]))
    got, about = ask_us(program, os.path.join(there, "gone"), addresses, "archive", debug_root, "build-id", identity)
    result(got == want and f"path {by_id}/{identity[2:]}" in about, "program gone, copy in an archive")
    got, about = ask_us(program, os.path.join(there, "gone"), addresses, "alternative", whole, "build-id", identity)
    result(got == want and f"path {whole}" in about, "program gone, another copy named")

    # built again since the recording
    replaced = os.path.join(there, "replaced")
    shutil.copy("/bin/true", replaced)
    got, about = ask_us(program, replaced, addresses, "archive", debug_root, "build-id", identity)
    notes = [a for a in about if a.startswith("note ")]
    result(got == want and len(notes) == 1 and "not the file that was recorded" in notes[0], "program replaced")
    got, about = ask_us(program, replaced, addresses, "build-id", identity)
    result(all(f == [("??", "??", 0)] for f in got.values()), "program replaced, no copy: no names")

    served = os.path.join(folder, "served", "buildid", identity)
    os.makedirs(served)
    shutil.copy(os.path.join(by_id, identity[2:] + ".debug"), os.path.join(served, "debuginfo"))
    os.environ["DEBUGINFOD_CACHE_PATH"] = os.path.join(folder, "cache")
    got, about = ask_us(program, stripped, addresses, urls=f"file://{folder}/served")
    result(got == want, "debuginfod")
    got, about = ask_us(program, stripped, addresses)
    result(got != want and "debug -" in about, "debuginfod is not asked without DEBUGINFOD_URLS")


def test_offsets(program, folder, built):
    """Offsets in the file, as mappings give them, whatever the segments look like."""
    for name, path in built.items():
        if "O2" not in name and "0x10000000" not in name and "lld" not in name and "no-pie" not in name:
            continue
        segments = [[int(w, 16) for w in re.findall(r"0x[0-9a-f]+", line)[:5]]
                    for line in output(["readelf", "-lW", path]).splitlines() if line.strip().startswith("LOAD")]
        addresses = sample(path, 500)
        offsets = {}
        for address in addresses:
            for offset, vaddr, _, size, _ in segments:
                if vaddr <= address < vaddr + size:
                    offsets[address] = address - vaddr + offset
        want, _ = ask_us(program, path, addresses)
        got, _ = ask_us(program, path, offsets.values(), "offsets", "yes")
        result(all(got[offsets[a]] == want[a] for a in addresses), "file offsets, " + name)


def test_shared_debug(program, folder, built):
    if not shutil.which("dwz"):
        result(True, "dwz", "no dwz")
        return
    first, second = (os.path.join(folder, n) for n in ("dwz1", "dwz2"))
    shutil.copy(built["g++ -O2"], first)
    shutil.copy(built["g++ -O3 -gdwarf-4"], second)
    output(["dwz", "-m", os.path.join(folder, "common"), "-M", os.path.join(folder, "common"), first, second])
    addresses = sample(first, 3000)
    want, _ = ask_us(program, built["g++ -O2"], addresses)
    got, about = ask_us(program, first, addresses)
    result(got == want, "dwz, parts shared with another program")
    os.rename(os.path.join(folder, "common"), os.path.join(folder, "uncommon"))
    got, about = ask_us(program, first, addresses)
    result([[f[1:] for f in got[a]] for a in addresses] == [[f[1:] for f in want[a]] for a in addresses],
           "dwz, the shared parts are gone: lines without some names")
    single = os.path.join(folder, "dwz3")
    shutil.copy(built["g++ -O2"], single)
    output(["dwz", single])
    compare(program, single, sample(single, 3000), "dwz, one program")


def test_symbols_only(program, folder, built):
    """Without DWARF: the symbol table; without that: .gnu_debugdata and exported names."""
    whole = built["gcc -gdwarf-5"]
    names = aliases(whole)
    addresses = sample(whole, 3000)
    want, _ = ask_us(program, whole, addresses)
    plain = os.path.join(folder, "plain")
    output(["objcopy", "--strip-debug", whole, plain])
    got, _ = ask_us(program, plain, addresses)
    result(all(got[a][0][0] == want[a][-1][0] or got[a][0][0].split(".")[0] == want[a][-1][0] for a in addresses),
           "symbol table")
    at = {line.split()[2]: int(line.split()[0], 16) for line in output(["nm", whole]).splitlines()
          if len(line.split()) == 3}
    got, _ = ask_us(program, plain, [at["shared"], at["bare"] + 1, at["label"] + 2])
    result([f[0][0] for f in got.values()] == ["alias", "bare", "label"],
           "the shortest global name, names without a size")
    if shutil.which("xz"):
        mini, data = os.path.join(folder, "mini"), os.path.join(folder, "mini.data")
        output(["objcopy", "--strip-debug", whole, data])
        output(["objcopy", "-S", "--keep-symbol=own", "--keep-symbol=shared", data, data + "2"])
        output(["xz", "-f", data + "2"])
        output(["objcopy", "--strip-all", "--add-section", f".gnu_debugdata={data}2.xz", whole, mini])
        got, _ = ask_us(program, mini, [at["own"] + 3, at["shared"]])
        result([f[0][0] for f in got.values()] == ["own", "shared"], ".gnu_debugdata")
    else:
        result(True, ".gnu_debugdata", "no xz")
    stripped = os.path.join(folder, "stripped")
    output(["objcopy", "--strip-all", whole, stripped])
    got, _ = ask_us(program, stripped, [at["own"]])
    result(got[at["own"]] == [("??", "??", 0)], "nothing: no name")


def test_libraries(program, limit):
    for path in LIBRARIES + sys.argv[3:]:
        if not os.path.exists(path):
            result(True, path, "is not there")
            continue
        compare(program, os.path.realpath(path), sample(path, limit), path, share=0.9)


def main():
    program = os.path.abspath(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    missing = [t for t in ("gcc", "g++", "objcopy", "readelf", "nm", "llvm-symbolizer", "eu-addr2line")
               if not shutil.which(t)]
    if missing:
        print(f"1..0 # SKIP no {', '.join(missing)}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        built = test_builds(program, folder, limit)
        test_separate(program, folder, built["gcc -gdwarf-5"])
        test_offsets(program, folder, built)
        test_shared_debug(program, folder, built)
        test_symbols_only(program, folder, built)
    test_libraries(program, limit)
    print(f"1..{number}")
    return 1 if failures else 0


sys.exit(main())
