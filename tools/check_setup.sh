#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tools/setup.sh with commands that stand in for dpkg-query, apt-get, id and sudo. One TAP line per case.

set -u
cd "$(dirname "$0")/.." || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
number=0 failures=0

# stand_in NAME: a command that stands in, from standard input
stand_in() {
	{ echo '#!/bin/bash' && cat; } >"$folder/bin/$1"
	chmod +x "$folder/bin/$1"
}

mkdir -p "$folder/bin" "$folder/tree/tools"
# A copy: the script makes configured folders beside it be configured again.
cp tools/setup.sh "$folder/tree/tools/"
cp packages.debian packages-test.debian "$folder/tree/"
stand_in dpkg-query <<'END'
sed 's/$/ installed/' "$SETUP_FOLDER/installed"
echo "mandoc deinstall"
END
# Without lists (update) nothing can be installed. A package that no source has (SETUP_UNKNOWN) refuses all.
stand_in apt-get <<'END'
echo "$*" >>"$SETUP_FOLDER/apt"
case " $* " in
*" update "*) touch "$SETUP_FOLDER/lists" ;;
*" $SETUP_UNKNOWN "*) exit 100 ;;
*" -s "*) [ -e "$SETUP_FOLDER/lists" ] ;;
*)
	[ -e "$SETUP_FOLDER/lists" ] || exit 100
	printf '%s\n' "$@" | grep -vxE '.*=.*|-.*|install' >>"$SETUP_FOLDER/installed"
	;;
esac
END
# shellcheck disable=SC2016
stand_in id <<<'echo "$SETUP_UID"'
# shellcheck disable=SC2016
stand_in sudo <<<'[ "$SETUP_SUDO" = yes ] || exit 1; while [ "${1:0:1}" = - ]; do shift; done; exec "$@"'

packages() {
	sed 's/[[:space:]]*#.*//' "$@" | sed '/^$/d'
}

# begin PACKAGE...: a machine on which all packages but these are installed, and folders that were configured
begin() {
	rm -rf "$folder/apt" "$folder/lists" "$folder/build"
	packages packages.debian packages-test.debian | grep -vxF "$(printf '%s\n' none "$@")" >"$folder/installed"
	mkdir -p "$folder/build/meson-private"
	touch "$folder/build/build.ninja" "$folder/build/meson-private/coredata.dat"
}

# begin_again PACKAGE...: the same with the folder that is there
begin_again() {
	mv "$folder/build" "$folder/kept"
	begin "$@"
	rm -rf "$folder/build"
	mv "$folder/kept" "$folder/build"
}

# setup UID SUDO [ARGUMENT...]: sets `status` and `said`
setup() {
	local uid=$1 sudo=$2
	shift 2
	said=$(PATH=$folder/bin:/usr/bin:/bin SETUP_FOLDER=$folder SETUP_UID=$uid SETUP_SUDO=$sudo BUILD=$folder/build \
		SETUP_UNKNOWN=${unknown:-none} \
		"$folder/tree/tools/setup.sh" "$@" </dev/null 2>&1)
	status=$?
}

# check TEXT: a case, from the status of the command before it
check() {
	local good=$?
	number=$((number + 1))
	if [ $good = 0 ]; then
		echo "ok $number - $1"
	else
		failures=$((failures + 1))
		printf 'status %s\n%s\n' "$status" "$said" | sed 's/^/#   /'
		sed 's/^/#   apt-get /' "$folder/apt" 2>/dev/null
		echo "not ok $number - $1"
	fi
}

begin
setup 0 no
[ $status = 0 ] && [ ! -e "$folder/apt" ] && [ -e "$folder/build/build.ninja" ]
check "where all is installed nothing is done"

begin meson mandoc
setup 0 no packages.debian
[ $status = 0 ] && grep -q 'install.* meson$' "$folder/apt" && ! grep -q mandoc "$folder/apt"
check "only what the list names is installed"

begin meson mandoc
setup 0 no
[ $status = 0 ] && [ "$(packages packages.debian packages-test.debian | sort -u)" = "$(sort -u "$folder/installed")" ]
check "without a list everything is installed, after a fetch of the lists"

[ ! -e "$folder/build/build.ninja" ] && [ ! -e "$folder/build/meson-private/coredata.dat" ]
check "a folder that was configured before is configured again"

begin meson mandoc
unknown=mandoc setup 0 no
[ $status = 0 ] && grep -qx meson "$folder/installed" && ! grep -qx mandoc "$folder/installed" &&
	grep -q 'tests that need them are skipped: mandoc$' <<<"$said"
check "a package that no source has is reported, and the others are installed"

begin meson mandoc
unknown=meson setup 0 no
[ $status = 1 ] && grep -qx mandoc "$folder/installed" && grep -q 'cannot be built without these packages: meson$' <<<"$said"
check "… also where duet cannot be built without it"

# A real folder, with an option and compiler of its own.
begin meson
rm -rf "$folder/build"
mkdir -p "$folder/project/include"
cat >"$folder/project/meson.build" <<'END'
project('example', 'c')
message(meson.get_compiler('c').has_header('appears.h', args: '-I' + meson.current_source_dir() / 'include') ? 'FOUND' : 'MISSING')
END
configured="a folder that is configured again keeps its options and compiler, and finds what was installed"
if ! PATH=/usr/bin:/bin:$PATH command -v meson >/dev/null; then
	number=$((number + 1))
	echo "ok $number - $configured # SKIP no meson"
elif CC="env gcc" PATH=/usr/bin:/bin:$PATH meson setup "$folder/build" "$folder/project" -Dbuildtype=release >"$folder/log" 2>&1; then
	touch "$folder/project/include/appears.h"
	setup 0 no
	PATH=/usr/bin:/bin:$PATH ninja -C "$folder/build" >"$folder/log" 2>&1
	said+=$(cat "$folder/log")
	[ $status = 0 ] && grep -q 'Message: FOUND' "$folder/log" && grep -q 'compiler.*: env gcc ' "$folder/log" &&
		grep -q 'buildtype: release' "$folder/log"
	check "$configured"

	# the same folder, as another version of meson may have left it
	echo "not a pickle" >"$folder/build/meson-private/coredata.dat"
	begin_again meson
	setup 0 no
	PATH=/usr/bin:/bin:$PATH ninja -C "$folder/build" >"$folder/log" 2>&1
	said+=$(cat "$folder/log")
	[ $status = 0 ] && grep -q 'buildtype: release' "$folder/log"
	check "… and its options where meson cannot read what it stored of the folder"
else
	status=$? said=$(cat "$folder/log")
	false
	check "$configured"
fi
rm -rf "$folder/build"

begin meson
setup 1000 yes
[ $status = 0 ] && grep -q 'install.* meson$' "$folder/apt"
check "by sudo"

begin meson ninja-build
setup 1000 no packages.debian
[ $status = 1 ] && [ ! -e "$folder/apt" ] && grep -q '^ *apt-get update && apt-get install .* meson ninja-build$' <<<"$said"
check "without rights the command is printed, and nothing can be built"

begin mandoc
setup 1000 no
[ $status = 0 ] && [ ! -e "$folder/apt" ] && grep -q 'tests that need them are skipped: mandoc$' <<<"$said"
check "without rights the tests run with what is there"

begin meson
setup 0 no --print
[ $status = 0 ] && [ "$said" = meson ] && [ ! -e "$folder/apt" ]
check "--print only prints"

echo "1..$number"
[ $failures = 0 ]
