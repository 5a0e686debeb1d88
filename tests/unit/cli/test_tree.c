/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_tree.c - a folder taken for "/", and a kernel that cannot do that
 */
#include "cli/doctor/tree.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

static char folder[] = "/tmp/test_tree.XXXXXX";

/* From here on the process has a kernel without openat2. */
static bool forget_openat2(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int try_without_openat2(void)
{
	struct tree tree;

	if (!forget_openat2())
		return 77;
	if (tree_open(folder, &tree) != -ENOSYS || !strstr(error_text(), "openat2") ||
	    !strstr(error_text(), "Linux 5.6"))
		return 1;
	error_clear();
	if (tree_open("", &tree) != 0)
		return 2;
	tree_close(&tree);
	return 0;
}

TEST(a_kernel_without_openat2)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(try_without_openat2());
	REQUIRE(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no seccomp filter can be set");
	CHECK_EQUAL(status, 0);
}

TEST(written_resolved_removed)
{
	char path[PATH_MAX], host[128];
	struct tree tree;
	bool removed;

	if (tree_open(folder, &tree)) {
		error_clear();
		SKIP("this kernel has no openat2");
	}
	CHECK_EQUAL(tree_write(&tree, "/etc/a/b", "file", "one"), 0);
	CHECK_EQUAL(tree_write(&tree, "/etc/a/b", "file", "two"), 0);
	snprintf(host, sizeof(host), "%s/link", folder);
	CHECK_EQUAL(symlink("/etc/a", host), 0);
	CHECK_EQUAL(tree_resolve(&tree, "/link/b/file", path), 0);
	CHECK_TEXT(path, "/etc/a/b/file");
	CHECK_EQUAL(tree_resolve(&tree, "/link/../../../link/b", path), 0);
	CHECK_TEXT(path, "/etc/a/b");
	CHECK_EQUAL(tree_resolve(&tree, "/none", path), -ENOENT);
	error_clear();
	CHECK_EQUAL(tree_check_trusted(&tree, "/etc/a/b/file"), 0);
	CHECK_EQUAL(tree_remove(&tree, "/etc/a/b", "file", &removed), 0);
	CHECK(removed);
	CHECK_EQUAL(tree_remove(&tree, "/etc/a/b", "file", &removed), 0);
	CHECK(!removed);
	CHECK_EQUAL(tree_resolve(&tree, "/etc", path), 0);
	CHECK_EQUAL(tree_resolve(&tree, "/etc/a", path), -ENOENT);
	error_clear();
	tree_close(&tree);
	unlink(host);
	snprintf(host, sizeof(host), "%s/etc", folder);
	rmdir(host);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_kernel_without_openat2);
	RUN(written_resolved_removed);
	rmdir(folder);
	return harness_end();
}
