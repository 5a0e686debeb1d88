#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long do names, lines and inlined callers of 100,000 addresses take, here and with the peers?

    bench/bench_symbol.py [--build DIR] [--addresses N] [--units N] [FILE]

FILE has debug information; without one a program of C++ templates is compiled (--units files with g++
-O2 -g, a quarter of a minute and 120,000 bytes of code each). The addresses are different ones, spread
evenly over .text in random order. Peers: addr2line -i -f -C, and eu-addr2line -i -f -C with as many
addresses as it does in about ten seconds, scaled. Times are the smallest of three (peers: one).
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = r'''
#include <algorithm>
#include <functional>
#include <iomanip>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int U, int N> struct shape {
	std::map<std::string, std::vector<std::tuple<int, double, std::string>>> things;
	std::unordered_map<int, std::shared_ptr<std::set<std::string>>> sets;
	std::variant<int, std::string, std::vector<double>> either;
	int work(const std::string &text)
	{
		std::regex expression("([a-z]+)" + std::to_string(N) + "|[0-9]{2,5}");
		std::smatch match;
		std::ostringstream out;
		if (std::regex_search(text, match, expression))
			out << std::setw(N) << match[0].str() << std::hex << match.size();
		for (int i = 0; i < N; i++) {
			things[text + std::to_string(i)].emplace_back(i, i * 1.5, text);
			auto &set = sets[i * 7];
			if (!set)
				set = std::make_shared<std::set<std::string>>();
			set->insert(out.str());
		}
		std::vector<int> numbers(N * 10);
		std::iota(numbers.begin(), numbers.end(), U);
		std::mt19937 engine(N);
		std::shuffle(numbers.begin(), numbers.end(), engine);
		std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % (N + 3) < b % (N + 3); });
		std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) { return a + N > b * 2; });
		std::function<int(int)> f = [this, &numbers](int x) { return x + (int)numbers.size() + (int)things.size(); };
		either = out.str();
		return f(N) + std::accumulate(numbers.begin(), numbers.end(), 0, [](int a, int b) { return a ^ (b + N); });
	}
};
#define CALL(u) run_##u
#define NAME(u) CALL(u)
int NAME(UNIT)(const std::string &text)
{
	return shape<UNIT, 1>().work(text) + shape<UNIT, 2>().work(text) + shape<UNIT, 3>().work(text) +
	       shape<UNIT, 4>().work(text) + shape<UNIT, 5>().work(text) + shape<UNIT, 6>().work(text) +
	       shape<UNIT, 7>().work(text) + shape<UNIT, 8>().work(text) + shape<UNIT, 9>().work(text);
}
'''


def make_program(folder, units):
    with open(f"{folder}/unit.cc", "w") as file:
        file.write(SOURCE)
    with open(f"{folder}/main.cc", "w") as file:
        file.write("#include <string>\n")
        file.writelines(f"int run_{u}(const std::string &);\n" for u in range(units))
        file.write("int main(int c, char **v) { int s = 0;")
        file.writelines(f" s += run_{u}(v[0]);" for u in range(units))
        file.write(" return s & 1; }\n")
    objects = []
    for unit in range(units):
        objects.append(f"{folder}/{unit}.o")
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", f"-DUNIT={unit}", "-c", f"{folder}/unit.cc",
                        "-o", objects[-1]], check=True)
    subprocess.run(["g++", "-O2", "-g", f"{folder}/main.cc", *objects, "-o", f"{folder}/program"], check=True)
    return f"{folder}/program"


def sections(path):
    lines = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for match in re.finditer(r"\[\s*\d+\] (\S+)\s+\w+\s+([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+)", lines):
        found[match[1]] = int(match[2], 16), int(match[3], 16)
    return found


def measure(command, addresses, rounds=1):
    text = "".join(f"{a:#x}\n" for a in addresses)
    best = None
    for _ in range(rounds):
        begin = time.monotonic()
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        best = seconds if best is None else min(best, seconds)
    return best, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--addresses", type=int, default=100000)
    parser.add_argument("--units", type=int, default=4)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or make_program(folder, options.units)
        found = sections(path)
        start, size = found[".text"]
        count = min(options.addresses, size)
        addresses = random.Random(1).sample(range(start, start + size), count)
        print(f"{path}: {size} bytes of code, {found.get('.debug_info', (0, 0))[1]} of .debug_info, "
              f"{count} different addresses")
        ours, text = measure([f"{options.build}/bench/bench_symbol", path], addresses, 3)
        print(f"symbolizer    {ours:8.2f} s   {text.strip()}")
        if shutil.which("addr2line"):
            seconds, _ = measure(["addr2line", "-i", "-f", "-C", "-e", path], addresses)
            print(f"addr2line     {seconds:8.2f} s   {seconds / ours:.1f} times as long")
        if shutil.which("eu-addr2line"):
            command = ["eu-addr2line", "-i", "-f", "-C", "-e", path]
            few = 100
            seconds, _ = measure(command, addresses[:few])
            few = max(few, min(count, int(few * 10 / seconds)))
            seconds, _ = measure(command, addresses[:few])
            seconds *= count / few
            print(f"eu-addr2line  {seconds:8.2f} s   {seconds / ours:.1f} times as long"
                  f"{f' (scaled from {few} addresses)' if few < count else ''}")
    return 0


sys.exit(main())
