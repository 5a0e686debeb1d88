#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What has to be built for some of the tests.

	tools/test_targets.py BUILD NAME...

Prints the files that ninja is to make in BUILD for the tests of these names, one a line. A NAME that ends
in ':' is a suite. A build with a sanitizer runs a part of the tests, which needs a part of the tree.
"""
import json
import os
import subprocess
import sys


def introspect(build, what):
	output = subprocess.run(['meson', 'introspect', build, what], check=True, stdout=subprocess.PIPE).stdout
	return json.loads(output)


def is_chosen(test, names):
	suites = {suite.split(':')[-1] + ':' for suite in test['suite']}
	return test['name'] in names or bool(suites & names)


def main(build, *names):
	needed = set()
	for test in introspect(build, '--tests'):
		if is_chosen(test, set(names)):
			needed.update(test['depends'])
	for target in introspect(build, '--targets'):
		if target['id'] in needed:
			for file in target['filename']:
				print(os.path.relpath(file, build))


main(*sys.argv[1:])
