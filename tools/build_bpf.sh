#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program for the kernel: compiled with its types, which place the fields that it reads, and without the rest of the
# debug information, which is nine tenths of the object.
#
#	tools/build_bpf.sh CLANG STRIP INPUT OUTPUT OPTION...

set -eu
clang=$1 strip=$2 input=$3 output=$4
shift 4
"$clang" -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Werror "$@" -c "$input" -o "$output"
"$strip" -g "$output"
