/* SPDX-License-Identifier: MIT
 *
 * bpf/kernel_types.h - the fields of the kernel's structures that duet reads
 *
 * Names are the kernel's; offsets are those of the running kernel, filled in when a program is
 * loaded. A field that some kernels lack is checked with bpf_core_field_exists first.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
} KERNEL_TYPE;

struct qstr {
	const unsigned char *name;
} KERNEL_TYPE;

struct dentry {
	struct qstr d_name;
} KERNEL_TYPE;

struct path {
	struct dentry *dentry;
} KERNEL_TYPE;

struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
} KERNEL_TYPE;

typedef struct {
	__s64 counter;
} KERNEL_TYPE atomic64_t;

/* Since Linux 6.13: one less than the number of references. */
typedef struct {
	atomic64_t refcnt;
} KERNEL_TYPE file_ref_t;

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
	atomic64_t f_count; /* until then */
	file_ref_t f_ref;
} KERNEL_TYPE;

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__be32 skc_daddr;
	unsigned short skc_family;
	__be16 skc_dport;
	__u16 skc_num;
	struct in6_addr skc_v6_daddr; /* with CONFIG_IPV6 */
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
} KERNEL_TYPE;

struct socket {
	short type;
	struct sock *sk;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

typedef struct {
	int counter;
} KERNEL_TYPE atomic_t;

struct signal_struct {
	atomic_t live;
} KERNEL_TYPE;

/* x86-64 */
struct thread_info {
	__u32 status;
} KERNEL_TYPE;

/* x86-64: fsbase is the address of glibc's and musl's struct pthread. */
struct thread_struct {
	unsigned long fsbase;
} KERNEL_TYPE;

/* Without CONFIG_CFS_BANDWIDTH it lacks the field. */
struct cfs_rq {
	int throttle_count;
} KERNEL_TYPE;

struct sched_entity {
	struct cfs_rq *cfs_rq;
} KERNEL_TYPE;

struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	int pid, tgid;
	char comm[16];
	unsigned int __state, flags;
	unsigned int in_iowait : 1;
	struct files_struct *files;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	__u64 start_boottime;
	struct sched_entity se;
	bool throttled; /* since Linux 6.18 */
} KERNEL_TYPE;

struct mm_struct {
	unsigned long mmap_base; /* start of mappings, which mostly grow downwards */
	unsigned long start_code, brk;
	unsigned long total_vm, data_vm, exec_vm;
} KERNEL_TYPE;

/* Since Linux 6.13 it counts changes of the mappings. */
typedef struct seqcount {
	unsigned int sequence;
} KERNEL_TYPE seqcount_t;

struct mm_struct___counted {
	seqcount_t mm_lock_seq;
} KERNEL_TYPE;

struct irqaction {
	const char *name;
} KERNEL_TYPE;

struct block_device {
	__u32 bd_dev;
} KERNEL_TYPE;

struct bio {
	struct block_device *bi_bdev;
} KERNEL_TYPE;

/* x86-64: the registers of a thread when it entered the kernel. */
struct pt_regs {
	unsigned long bp, ax, dx, si, di, orig_ax, ip, sp, r8, r9, r10;
} KERNEL_TYPE;

/* Linux 6.2 to 6.14 keep it here, others in a variable of its own. */
struct pcpu_hot {
	int preempt_count;
} KERNEL_TYPE;
