#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what packages.debian and packages-test.debian name and what is missing. Needs root, or sudo.
#
#	tools/setup.sh [--print]     --print: only name what is missing

set -eu
cd "$(dirname "$0")/.."

wanted=$(sed 's/#.*//' packages.debian packages-test.debian | tr -s '[:space:]' '\n' | sed '/^$/d')
missing=$(for package in $wanted; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || echo "$package"
done)

if [ "${1:-}" = --print ]; then
	printf '%s\n' $missing
	exit
fi
if [ -z "$missing" ]; then
	echo "setup: all packages are installed"
	exit
fi
as_root=
if [ "$(id -u)" != 0 ]; then
	as_root=sudo
	command -v sudo >/dev/null || {
		echo "setup: run this as root: apt-get install" $missing >&2
		exit 1
	}
fi
install() {
	$as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends $missing
}
# The lists of a fresh machine are empty or old: fetch them only where they do not do.
install || { $as_root apt-get update -q && install; }
