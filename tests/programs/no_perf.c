/* SPDX-License-Identifier: MIT
 *
 * tests/programs/no_perf.c - run a program to which perf_event_open is refused, as containers do
 *
 *	no_perf ERRNO[+vm] PROGRAM [ARGUMENT...]      with +vm process_vm_readv too
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 3)
		return 125;
	if (!strstr(argv[1], "+vm"))
		filter[2].k = SYS_perf_event_open;
	filter[3].k |= (unsigned int)atoi(argv[1]) & 0xffff;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("no_perf");
		return 125;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
