#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every C file is as clang-format 14 (Debian 12's) leaves it. One TAP line per folder.
#
#	tools/check_format.sh          check
#	tools/check_format.sh --fix    format in place

set -u
cd "$(dirname "$0")/.." || exit 1

formatter=$(command -v clang-format-14)
if [ -z "$formatter" ]; then
	echo "1..0 # SKIP clang-format-14 is not installed, and other versions differ"
	exit 0
fi

list() {
	git ls-files -- '*.c' '*.h' 2>/dev/null ||
		find src include tests sim examples bench -name '*.[ch]' 2>/dev/null
}

if [ "${1:-}" = --fix ]; then
	list | xargs -r "$formatter" -i
	exit
fi

number=0
status=0
while read -r folder; do
	number=$((number + 1))
	complaint=$(list | awk -v folder="$folder" \
		'{ path = $0; sub(/\/[^\/]*$/, "", path); if (path == folder) print }' |
		while read -r file; do [ -e "$file" ] && echo "$file"; done |
		xargs -r "$formatter" --dry-run -Werror 2>&1 | grep 'error:')
	if [ -z "$complaint" ]; then
		echo "ok $number - $folder"
	else
		printf '%s\n' "$complaint" | sed 's/^/#   /'
		echo "not ok $number - $folder (tools/check_format.sh --fix)"
		status=1
	fi
done < <(list | sed 's|/[^/]*$||' | LC_ALL=C sort -u)
echo "1..$number"
exit $status
