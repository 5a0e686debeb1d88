#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a static library of one object, in which only duet.h's functions have names that others see.
#
#	tools/merge_objects.sh LIBRARY OBJECT...

set -eu
library=$1
shift
merged=$library.o
rm -f "$library"
ld -r -o "$merged" "$@"
objcopy --wildcard --keep-global-symbol='duet_*' "$merged"
ar rcsD "$library" "$merged"
rm -f "$merged"
