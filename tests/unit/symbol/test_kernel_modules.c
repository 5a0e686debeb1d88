/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_kernel_modules.c - modules that come and go, and whose names lie where
 * they were
 */
#include "symbol/kernel/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"
#include "symbol/kernel/kallsyms.h"

static char path[] = "/tmp/duet-test-modules-XXXXXX";

static int look(struct kernel_modules *modules, const char *text)
{
	harness_write_text(path, text);
	return kernel_modules_scan(modules, path);
}

static const char BOTH[] = "i915 4096000 12 - Live 0xffffffffc0400000 (OE)\n"
			   "vgem 16384 0 - Live 0xffffffffc0100000\n";
static const char ONE[] = "i915 4096000 12 drm,ttm, Live 0xffffffffc0400000 (OE)\n";

static const char SYMBOLS[] = "ffffffff81000000 T schedule\n"
			      "ffffffff81000100 T read_it\n"
			      "ffffffffc0050000 t bpf_prog_12ab_on_switch\t[bpf]\n"
			      "ffffffffc0058000 t bpf_trampoline_99\t[bpf]\n"
			      "ffffffffc005a000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			      "ffffffffc0400100 t i915_request_wait\t[i915]\n";

static char symbols_path[] = "/tmp/duet-test-symbols-XXXXXX";

static const char *name(const struct kernel_modules *modules, uint64_t address)
{
	static char text[128];
	struct kernel_symbol symbol = {.address = address};

	CHECK_EQUAL(kallsyms_name(symbols_path, &symbol, 1), 0);
	return kernel_modules_name(modules, &symbol, text, sizeof(text)) ? text : "";
}

TEST(names)
{
	struct kernel_modules modules = {0};

	CHECK_EQUAL(look(&modules, BOTH), 0);
	CHECK_TEXT(name(&modules, 0xffffffff81000010), "schedule");
	CHECK_TEXT(name(&modules, 0xffffffffc0050010), "bpf_prog_12ab_on_switch [bpf]");
	CHECK_TEXT(name(&modules, 0xffffffffc0058001), "bpf_trampoline_99 [bpf]");
	CHECK_TEXT(name(&modules, 0xffffffffc005a001), "ftrace_trampoline [__builtin__ftrace]");
	CHECK_TEXT(name(&modules, 0xffffffffc0400180), "i915_request_wait [i915]");
	/* in the module, before its first name; in one whose names nobody has */
	CHECK_TEXT(name(&modules, 0xffffffffc0400040), "i915+0x40 [i915]");
	CHECK_TEXT(name(&modules, 0xffffffffc0100080), "vgem+0x80 [vgem]");
	/* behind everything, and before */
	CHECK_TEXT(name(&modules, 0xffffffff90000000), "");
	CHECK_TEXT(name(&modules, 0x1000), "");
	kernel_modules_fini(&modules);
}

TEST(a_module_that_went)
{
	struct kernel_modules modules = {0};

	CHECK_EQUAL(look(&modules, BOTH), 0);
	CHECK_EQUAL(look(&modules, ONE), 0);
	CHECK_EQUAL(modules.count, 2);
	CHECK_TEXT(name(&modules, 0xffffffffc0100080), "vgem+0x80 [vgem]");
	CHECK_TEXT(name(&modules, 0xffffffffc0400180), "i915_request_wait [i915]");
	/* another one has its place now */
	CHECK_EQUAL(look(&modules, "xe 65536 0 - Live 0xffffffffc0100000\n"), 0);
	CHECK_TEXT(kernel_modules_find(&modules, 0xffffffffc0100080)->name, "xe");
	/* i915 went as well: what has its name is no more there */
	CHECK_TEXT(name(&modules, 0xffffffffc0400180), "i915+0x180 [i915]");
	CHECK_EQUAL(look(&modules, BOTH), 0);
	CHECK_TEXT(kernel_modules_find(&modules, 0xffffffffc0100080)->name, "vgem");
	kernel_modules_fini(&modules);
}

TEST(without_a_list)
{
	struct kernel_modules modules = {0};

	unlink(path);
	CHECK_EQUAL(kernel_modules_scan(&modules, path), -ENOENT);
	error_clear();
	CHECK_TEXT(name(&modules, 0xffffffffc0400180), "i915_request_wait [i915]");
	CHECK_TEXT(name(&modules, 0xffffffffd0000000), "");
	kernel_modules_fini(&modules);
}

TEST(nonsense)
{
	struct kernel_modules modules = {0};

	CHECK_EQUAL(look(&modules, "vgem 16384 0 - Live 0x0000000000000000\n"), -EACCES);
	CHECK(strstr(error_text(), "kptr_restrict") != NULL);
	error_clear();
	CHECK_EQUAL(look(&modules, ""), 0);
	CHECK_EQUAL(look(&modules, "x\ny 1\nz -1 0 - Live 0xffffffffffffff00\n\n"
				   "vgem 16384 0 - Live 0xffffffffc0100000"),
		    0);
	CHECK_EQUAL(modules.count, 1);
	CHECK(kernel_modules_find(&modules, 0xffffffffc0103fff) != NULL);
	CHECK(kernel_modules_find(&modules, 0xffffffffc0104000) == NULL);
	kernel_modules_fini(&modules);
}

int main(void)
{
	close(mkstemp(path));
	close(mkstemp(symbols_path));
	harness_write_text(symbols_path, SYMBOLS);
	RUN(names);
	RUN(a_module_that_went);
	RUN(without_a_list);
	RUN(nonsense);
	unlink(path);
	unlink(symbols_path);
	return harness_end();
}
