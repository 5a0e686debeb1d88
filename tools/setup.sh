#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs the Debian packages that a list names and that are missing. Needs root or sudo.
#
#	tools/setup.sh [--print] [LIST...]     LIST: packages.debian, packages-test.debian (default: both)
#	                                       --print: only print the names of missing packages
#
# A package that this machine's sources lack is reported, and the others are installed.
# Exit status 1: a package of packages.debian is still missing. Without one of packages-test.debian the tests that need
# it are skipped. BUILD: the build folder (build).

set -eu
cd "$(dirname "$0")/.."

# missing LIST...: the packages of the lists that are not installed
missing() {
	comm -23 <(sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sed '/^$/d' | sort -u) \
		<(dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p' | sort -u)
}

# Sets as_root: the command that gives root's rights. Fails where there is none, or where sudo cannot ask for a password.
find_root() {
	as_root=
	[ "$(id -u)" != 0 ] || return 0
	as_root=sudo
	command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

# apt COMMAND...
apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# can_install PACKAGE...
can_install() {
	apt install -s --no-install-recommends "$@" >/dev/null 2>&1
}

# install PACKAGE...: those that this machine's sources have, because apt installs all of them or none
install() {
	local package possible=()
	# The lists of a fresh machine are empty or old. They are fetched only if they do not do.
	if ! can_install "$@"; then
		apt update || true
		if ! can_install "$@"; then
			for package; do
				! can_install "$package" || possible+=("$package")
			done
			[ ${#possible[@]} != 0 ] || return
			set -- "${possible[@]}"
		fi
	fi
	apt install -y --no-install-recommends "$@" ||
		{ apt update && apt install -y --no-install-recommends "$@"; }
}

# clear_answers FOLDER: what meson stores of the compiler and of packages, so that ninja configures the folder again with
# the options and compilers that it has. `meson configure --clearcache` keeps in 1.0 which headers were not found.
clear_answers() {
	/usr/bin/python3 - "$1" 2>/dev/null <<-END
		import sys
		from mesonbuild import coredata
		data = coredata.load(sys.argv[1])
		for cache in (data.compiler_check_cache, data.deps.host, data.deps.build):
		    cache.clear()
		coredata.save(data, sys.argv[1])
	END
}

# forget_all FOLDER: for stored data that this meson cannot read, such as those of another version. With an empty
# coredata.dat meson takes the options from cmd_line.txt. Without the file it takes the defaults. The compiler is lost.
forget_all() {
	if [ -s "$1/meson-private/cmd_line.txt" ]; then
		: >"$1/meson-private/coredata.dat"
	else
		rm -f "$1/build.ninja" "$1/meson-private/coredata.dat"
	fi
}

# Folders that were configured before are configured again.
forget_configuration() {
	local folder
	for folder in "${BUILD:-build}" build-asan build-tsan build-fuzz; do
		[ -e "$folder/build.ninja" ] || continue
		echo "setup: $folder will be configured again, because packages were installed"
		clear_answers "$folder" || forget_all "$folder"
	done
}

only_print=
if [ "${1:-}" = --print ]; then
	only_print=yes
	shift
fi
[ $# -gt 0 ] || set -- packages.debian packages-test.debian
if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is not Debian; $* name the packages of Debian 12 that are needed" >&2
	exit 0
fi

mapfile -t wanted < <(missing "$@")
if [ -n "$only_print" ]; then
	[ ${#wanted[@]} = 0 ] || printf '%s\n' "${wanted[@]}"
	exit 0
fi
if [ ${#wanted[@]} = 0 ]; then
	echo "setup: all packages are installed"
	exit 0
fi
if ! find_root; then
	cat >&2 <<-END
		setup: ${#wanted[@]} packages are missing, and installing them needs root or sudo; run as root:

		    apt-get update && apt-get install --no-install-recommends ${wanted[*]}

	END
elif install "${wanted[@]}"; then
	forget_configuration
fi

mapfile -t needed < <(missing packages.debian)
if [ ${#needed[@]} != 0 ]; then
	echo "setup: duet cannot be built without these packages: ${needed[*]}" >&2
	exit 1
fi
mapfile -t absent < <(missing "$@")
[ ${#absent[@]} = 0 ] || echo "setup: not installed, tests that need them are skipped: ${absent[*]}" >&2
