/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/absent.h - functions that a build without libbpf lacks
 */
#pragma once

#include <errno.h>

#include "base/error.h"

/* A function of this type, name and parameters that only returns `result`. */
#define ABSENT(type, name, parameters, result) \
	type name parameters                   \
	{                                      \
		return result;                 \
	}

#define ABSENT_ERROR error_set(-ENOSYS, "this duet was built without libbpf")
