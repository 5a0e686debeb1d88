/* SPDX-License-Identifier: MIT
 *
 * abi/function_names.h - the name of each function whose calls a guest records
 *
 * Include with these macros defined:
 *
 *	FUNCTION_NAME(number, text)
 *
 * This file includes the table of calls of each runtime.
 */
#define STATUS(number, name, ...)        FUNCTION_NAME(number, #name)
#define CREATE(number, name, ...)        FUNCTION_NAME(number, #name)
#define POINTER(number, name, ...)       FUNCTION_NAME(number, #name)
#define NOTHING(number, name, ...)       FUNCTION_NAME(number, #name)
#define WAIT(number, name, ...)          FUNCTION_NAME(number, #name)
#define ENQUEUE(number, name, ...)       FUNCTION_NAME(number, #name)
#define ENQUEUE_PLAIN(number, name, ...) FUNCTION_NAME(number, #name)
#define ENQUEUE_MAP(number, name, ...)   FUNCTION_NAME(number, #name)
#define PASSED(number, name)             FUNCTION_NAME(number, #name)
#include "opencl_calls.inc"

#define HSA_CALL(number, name, text) FUNCTION_NAME(number, text)
#include "abi/hsa_calls.h"

#define HIP_CALL(number, name, ...)     FUNCTION_NAME(number, #name)
#define HIP_WAIT(number, name, ...)     FUNCTION_NAME(number, #name)
#define HIP_LAUNCH(number, name, ...)   FUNCTION_NAME(number, #name)
#define HIP_COPY(number, name, ...)     FUNCTION_NAME(number, #name)
#define HIP_COPY_NOW(number, name, ...) FUNCTION_NAME(number, #name)
#define HIP_OTHER_SYMBOL(name, symbol, version)
#include "abi/hip_calls.h"

#define ZE_CALL(number, name, ...)    FUNCTION_NAME(number, #name)
#define ZE_WAIT(number, name, ...)    FUNCTION_NAME(number, #name)
#define ZE_APPEND(number, name, ...)  FUNCTION_NAME(number, #name)
#define ZE_EXECUTE(number, name, ...) FUNCTION_NAME(number, #name)
#define ZE_QUIET(...)
#define ZE_GIVE(...)
#define ZE_BELOW(...)
#include "abi/level_zero_calls.h"
