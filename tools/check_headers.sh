#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every header compiles alone, included twice, with all warnings. One TAP line per header. A table
# header, which says "Include with these macros defined", is compiled by who includes it.
# Attributes that only the compiler for the kernel's machine knows (src/bpf) are none of its business.
#
#	tools/check_headers.sh gcc|clang [FOLDER]
#
# FOLDER has the headers that a build has made.

set -u
cd "$(dirname "$0")/.." || exit 1
compiler=${1:-gcc}

if ! command -v "$compiler" >/dev/null; then
	echo "1..0 # SKIP $compiler is not installed"
	exit 0
fi

number=0
status=0
while read -r header; do
	number=$((number + 1))
	if complaint=$(printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		"$compiler" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused \
			-Wno-unused-parameter -Wno-attributes -Wno-unknown-attributes -Isrc -Iinclude -Itests -I. ${2:+-I"$2"} -x c -fsyntax-only - 2>&1); then
		echo "ok $number - $header"
	else
		printf '%s\n' "$complaint" | head -n 10 | sed 's/^/#   /'
		echo "not ok $number - $header"
		status=1
	fi
done < <(find src include tests -name '*.h' 2>/dev/null | LC_ALL=C sort |
	xargs grep -L 'Include with these macros')
echo "1..$number"
exit $status
