/* SPDX-License-Identifier: MIT
 *
 * bpf/sched.bpf.c - why threads stop running: preemptors, waits and wakers
 *
 * Runs in:  the kernel, at every switch and wake-up of a thread
 * Gets:     the threads of the processes in `watched`, and of processes they start; or of the whole
 *           machine
 * Gives:    kernel_out, kernel_in in `records`; stacks in `user_stacks`
 * Fails:    a record without room is counted in `counts`
 * Why:      perf shows an ordinary user only that its thread left and came back. A BPF program sees
 *           both threads of a switch, and the state of the leaving one: its system call, the file,
 *           the lock's owner. A thread that is not watched costs one table lookup (about 30 ns) for
 *           each switch and each wake-up.
 */
#include "bpf/kernel_types.h"

#include "bpf/interrupts.bpf.h"
#include "bpf/maps.h"
#include "bpf/python.bpf.h"
#include "bpf/rivals.bpf.h"
#include "bpf/watched.h"
#include "event/kernel_record.h"

enum {
	OWN_FRAMES = 2, /* the innermost frames: the program and bpf_trace_run4 */
	TASK_RUNNING = 0,
	TASK_UNINTERRUPTIBLE = 2,
	SERVING_SOFTIRQ = 1 << 8, /* bit of preempt_count */
	HARDIRQ_NMI = 0xff << 16,
	NO_CALL = -1,
	CALL_FUTEX = 202, /* x86-64 */
	/* A busy thread is preempted in new places, and the stacks of waits come first. */
	PREEMPTED_LEAVES = 16,
	MUTEX_WORDS = 5,      /* words of glibc's mutex: lock, count, owner, users, kind */
	TASK_STOPPED = 4 | 8, /* by a signal; by a debugger */
	TASK_DEAD = 0x80,
	KERNEL_OWN = 0x00200000, /* bit of a task's flags */
	FILE_TYPE = 0170000,     /* bits of i_mode */
	BLOCK_DEVICE = 0060000,
	CHARACTER_DEVICE = 0020000,
	SOCKET = 0140000,
	ANONYMOUS_FILES = 0x09041934, /* file system of eventfd(2), timerfd_create(2), … */
	FAMILY_INET = 2,
	FAMILY_INET6 = 10,
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The first is for 6.1 and from 6.15 on; between these, sched_hot.bpf.c; for kernels that have
 * neither in their types, sched_unsure.bpf.c. Each object uses one of them: for a name that the
 * kernel's own types lack, libbpf searches those of all modules, which needs cap_sys_admin. */
#if defined(PREEMPT_COUNT_IS_HOT)
extern const struct pcpu_hot pcpu_hot __ksym __weak;
#elif !defined(PREEMPT_COUNT_IS_NOWHERE)
extern const int __preempt_count __ksym __weak;
#endif

RING(records, 8 << 20);

struct waking {
	__u64 time_ns;
	struct kernel_task waker;
	__u32 flags;
	__u32 reserved;
};

/* tid -> its waker, until it runs. */
MAP(wakings, LRU_HASH, 16384, __u32, struct waking);

/* tid -> device of its last request. */
MAP(disks, LRU_HASH, 4096, __u32, __u32);

/* Position of a page fault: address, instruction and stack identify it. */
struct fault {
	__u64 address, ip, sp;
	__u32 tid, reserved;
};

/* The last fault on this processor, of any thread. */
MAP(last_faults, PERCPU_ARRAY, 1, __u32, struct fault);

/* tid -> the fault that it last waited in: it may continue with it on another processor. */
MAP(faults, LRU_HASH, 4096, __u32, struct fault);

/* There are few kernel stacks; each is kept once and never replaced, so that its number stays
 * valid. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, MAX_KERNEL_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

/* Most stacks repeat, so each is written once. The recorder allows 32 more (0.5 MiB) after it has
 * read all of them, and another 32 may have been written meanwhile. The ring has room for both. */
RING(user_stacks, 2 << 20);

#define USER_STACKS_RING user_stacks
#define USER_STACKS_LOST KERNEL_COUNT_USER_STACKS
#define USER_STACKS_TOP  128
#define USER_STACKS_PYTHON
#include "bpf/user_stacks.bpf.h"

#ifndef PREEMPT_COUNT_IS_NOWHERE
static __always_inline bool is_interrupted(void)
{
	const int *count = NULL;

#ifdef PREEMPT_COUNT_IS_HOT
	if (&pcpu_hot)
		count = &((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
#else
	if (&__preempt_count)
		count = bpf_this_cpu_ptr(&__preempt_count);
#endif
	return count && (*count & (SERVING_SOFTIRQ | HARDIRQ_NMI));
}
#endif

/* True if the current user thread is in the kernel for another reason than a system call. */
static __always_inline bool is_outside_of_calls(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

	return task->tgid && BPF_CORE_READ(task, mm) && (long)registers->orig_ax < 0;
}

/* Calls whose first argument is the file that they may wait for, by x86-64's numbers. */
static __always_inline bool is_of_file(long call)
{
	switch (call) {
	case 0:   /* read */
	case 1:   /* write */
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 40:  /* sendfile */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 77:  /* ftruncate */
	case 217: /* getdents64 */
	case 221: /* fadvise64 */
	case 242: /* mq_timedsend */
	case 243: /* mq_timedreceive */
	case 275: /* splice */
	case 276: /* tee */
	case 277: /* sync_file_range */
	case 278: /* vmsplice */
	case 285: /* fallocate */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 306: /* syncfs */
	case 307: /* sendmmsg */
	case 326: /* copy_file_range */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
		return true;
	default:
		return false;
	}
}

static __always_inline void find_peer(struct kernel_out *record, const struct socket *socket)
{
	const struct sock *sock = BPF_CORE_READ(socket, sk);

	record->socket_type = BPF_CORE_READ(socket, type);
	record->family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (record->family == FAMILY_INET || record->family == FAMILY_INET6) {
		record->own_port = BPF_CORE_READ(sock, __sk_common.skc_num);
		record->peer_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	}
	if (record->family == FAMILY_INET)
		bpf_core_read(record->peer, sizeof(__be32), &sock->__sk_common.skc_daddr);
	else if (record->family == FAMILY_INET6 &&
		 bpf_core_field_exists(sock->__sk_common.skc_v6_daddr))
		bpf_core_read(record->peer, sizeof(record->peer), &sock->__sk_common.skc_v6_daddr);
}

/* "[eventfd]" of a file without a place in a file system. */
static __always_inline void find_name(struct kernel_out *record, const struct file *file)
{
	bpf_probe_read_kernel_str(record->file_name, sizeof(record->file_name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

/* The file, or its file system, of an open descriptor of this thread, which is the current one. */
static __always_inline void find_file(struct kernel_out *record, const struct task_struct *task,
				      __u64 descriptor)
{
	const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;
	struct inode *inode;
	__u32 type;

	if (descriptor >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + descriptor) ||
	    !file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	record->file_mode = BPF_CORE_READ(inode, i_mode);
	record->file_inode = BPF_CORE_READ(inode, i_ino);
	record->file_generation = BPF_CORE_READ(inode, i_generation);
	type = record->file_mode & FILE_TYPE;
	record->file_device = type == BLOCK_DEVICE || type == CHARACTER_DEVICE
				      ? BPF_CORE_READ(inode, i_rdev)
				      : BPF_CORE_READ(inode, i_sb, s_dev);
	if (type == SOCKET)
		find_peer(record, BPF_CORE_READ(file, private_data));
	else if (BPF_CORE_READ(inode, i_sb, s_magic) == ANONYMOUS_FILES)
		find_name(record, file);
}

/* A number that changes with the process's mappings. Before Linux 6.13 it changes with libraries
 * and with files that are shared or not written to; memory that a program allocates for itself
 * cancels out in both sums. */
static __always_inline __u32 state_of_mappings(const struct task_struct *task)
{
	const struct mm_struct *mm = BPF_CORE_READ(task, mm);
	const struct mm_struct___counted *counted = (const void *)mm;
	__u64 sum;

	if (bpf_core_field_exists(counted->mm_lock_seq))
		return BPF_CORE_READ(counted, mm_lock_seq.sequence) | 1u << 31;
	sum = BPF_CORE_READ(mm, total_vm) - BPF_CORE_READ(mm, data_vm);
	return (__u32)(sum * 31 + BPF_CORE_READ(mm, exec_vm)) | 1u << 31;
}

/* A mutex needs a non-zero word at its end. */
static __always_inline void find_lock(struct kernel_out *record, __u64 address)
{
	__u32 words[MUTEX_WORDS] = {};

	bpf_probe_read_user(record->lock.before, sizeof(record->lock.before),
			    (void *)(address - KERNEL_BEFORE_LOCK));
	if (bpf_probe_read_user(words, sizeof(words), (void *)address))
		return;
	record->lock.word = words[0];
	record->lock.owner = words[2];
	record->lock.kind = words[4];
	record->head.flags |= KERNEL_HAS_LOCK;
}

static __always_inline void find_call(struct kernel_out *record, struct task_struct *task)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

	record->call = (long)registers->orig_ax;
	if (record->call < 0)
		return;
	record->head.flags |= KERNEL_IN_CALL;
	record->arguments[0] = registers->di;
	record->arguments[1] = registers->si;
	record->arguments[2] = registers->dx;
	if (is_of_file(record->call)) {
		find_file(record, task, record->arguments[0]);
	} else if (record->call == CALL_FUTEX) {
		record->mappings = state_of_mappings(task);
		find_lock(record, record->arguments[0]);
	}
}

static __always_inline bool is_same(const struct fault *fault, const struct task_struct *task,
				    const struct pt_regs *registers)
{
	return fault && fault->tid == (__u32)task->pid && fault->ip == registers->ip &&
	       fault->sp == registers->sp;
}

/* For a thread that is outside of system calls. A fault is unknown if the thread moved to another
 * processor between the fault and its first wait. */
static __always_inline void find_fault(struct kernel_out *record, struct task_struct *task)
{
	const struct pt_regs *registers = (const struct pt_regs *)bpf_task_pt_regs(task);
	const __u32 key = 0, tid = task->pid;
	struct fault *fault = bpf_map_lookup_elem(&last_faults, &key);
	struct fault kept;

	if (is_same(fault, task, registers)) {
		kept = *fault;
		bpf_map_update_elem(&faults, &tid, &kept, BPF_ANY);
	} else {
		fault = bpf_map_lookup_elem(&faults, &tid);
		if (!is_same(fault, task, registers))
			return;
	}
	record->fault_address = fault->address;
	record->mappings = state_of_mappings(task);
	record->head.flags |= KERNEL_FAULT;
}

static __always_inline void begin_record(struct kernel_head *head, __u32 kind,
					 const struct task_struct *task, __u64 now_ns)
{
	head->time_ns = now_ns;
	head->kind = kind;
	head->cpu = bpf_get_smp_processor_id();
	head->flags = task->flags & KERNEL_OWN ? KERNEL_OWN_THREAD : 0;
	head->tid = task->pid;
	head->tgid = task->tgid;
}

/* Whether the limit of its cgroup (cpu.max) took the thread's processor away. Since Linux 6.18 the
 * thread is marked, before that the queue of its cgroup. */
static __always_inline bool is_throttled(const struct task_struct *task)
{
	const struct cfs_rq *queue;

	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return false;
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return queue && bpf_core_field_exists(queue->throttle_count) &&
	       BPF_CORE_READ(queue, throttle_count) > 0;
}

static __always_inline void put_out(void *context, struct rivals *processor,
				    struct task_struct *task, bool preempted,
				    struct task_struct *next, __u64 now_ns, bool has_python)
{
	const unsigned int state = task->__state;
	struct kernel_out *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	__u32 tid = task->pid, *disk;

	if (!record) {
		count(KERNEL_COUNT_RECORDS);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	begin_record(&record->head, KERNEL_RECORD_OUT, task, now_ns);
	record->call = NO_CALL;
	record->stack = -1;
	name_task(&record->next, next);
	if (state & TASK_DEAD) {
		record->head.flags |= KERNEL_EXITED;
	} else if (preempted || state == TASK_RUNNING) {
		record->head.flags |= KERNEL_PREEMPTED;
		if (is_throttled(task))
			record->head.flags |= KERNEL_THROTTLED;
		/* a waker from before the thread left did not end this wait */
		bpf_map_delete_elem(&wakings, &tid);
		if (processor)
			rivals_begin(processor, task, now_ns);
	} else if (!(record->head.flags & KERNEL_OWN_THREAD)) {
		find_call(record, task);
		if (state & TASK_STOPPED)
			record->head.flags |= KERNEL_STOPPED;
		else if (record->call < 0)
			find_fault(record, task);
		if (BPF_CORE_READ_BITFIELD(task, in_iowait)) {
			record->head.flags |= KERNEL_IO_WAIT;
			disk = bpf_map_lookup_elem(&disks, &tid);
			if (disk)
				record->disk = *disk;
			/* a later wait may be for another thread's request */
			bpf_map_delete_elem(&disks, &tid);
		}
		/* The system call shows what it waits for, but not why it is blocked
		 * uninterruptibly. */
		if (!watches_all && ((state & TASK_UNINTERRUPTIBLE) || record->call < 0)) {
			record->stack = (__s32)bpf_get_stackid(context, &stacks, OWN_FRAMES);
			if (record->stack < 0)
				count(KERNEL_COUNT_KERNEL_STACKS);
		}
	}
	/* stacks of the whole machine are not recorded */
	if (!watches_all && !(record->head.flags & (KERNEL_EXITED | KERNEL_OWN_THREAD)))
		record->user_stack = find_stack_leaving(
			task, record->head.flags & KERNEL_PREEMPTED ? PREEMPTED_LEAVES : 0,
			has_python);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void put_in(struct rivals *processor, struct task_struct *task, __u64 now_ns)
{
	struct kernel_in *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	const struct rival *rival = processor ? rivals_end(processor, task) : NULL;
	struct waking *waking;
	__u32 tid = task->pid;

	if (!record) {
		count(KERNEL_COUNT_RECORDS);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	begin_record(&record->head, KERNEL_RECORD_IN, task, now_ns);
	__builtin_memcpy(record->name, task->comm, sizeof(record->name));
	waking = bpf_map_lookup_elem(&wakings, &tid);
	if (waking) {
		record->woken_ns = waking->time_ns;
		record->waker = waking->waker;
		record->head.flags |= waking->flags;
		bpf_map_delete_elem(&wakings, &tid);
	} else if (rival) {
		record->left_ns = rival->left_ns;
		record->rival = rival->longest;
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline int put_waking(const struct task_struct *task, bool interrupted)
{
	struct waking waking = {};
	__u32 tid = task->pid;

	waking.time_ns = bpf_ktime_get_ns();
	name_task(&waking.waker, bpf_get_current_task_btf());
	if (interrupted)
		waking.flags = KERNEL_INTERRUPT;
	if (bpf_map_update_elem(&wakings, &tid, &waking, BPF_ANY))
		count(KERNEL_COUNT_WAKINGS);
	return 0;
}

#ifndef PREEMPT_COUNT_IS_NOWHERE
/* In the waker's context: in that of sched_wakeup another processor may stand in for it. Some
 * kernels refuse this program: it comes first, so they refuse it before they check the longer ones
 * in vain. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	return is_watched(task->tgid) ? put_waking(task, is_interrupted()) : 0;
}
#endif

/* For a kernel without the address of preempt_count (without CONFIG_KALLSYMS_ALL): an interrupt
 * from user code is recognized by that, but an interrupted thread inside the kernel is taken for
 * the waker. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking_unsure, struct task_struct *task)
{
	return is_watched(task->tgid) ? put_waking(task, is_outside_of_calls()) : 0;
}

/* For a thread that ends. The last one takes its process out of the table, also a process unknown
 * to the recorder, so that the table contains only live processes. */
static __always_inline void forget_dead(const struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!watches_all && (task->__state & TASK_DEAD) &&
	    BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&watched, &tgid);
}

static __always_inline int put_switch(void *context, bool preempted, struct task_struct *previous,
				      struct task_struct *next, bool has_python)
{
	const __u64 now_ns = bpf_ktime_get_ns();
	struct rivals *processor = this_processor();

	if (processor)
		rivals_ran(processor, previous, now_ns);
	/* the next thread's place becomes free for the previous one */
	if (is_watched(next->tgid))
		put_in(processor, next, now_ns);
	if (is_watched(previous->tgid)) {
		put_out(context, processor, previous, preempted, next, now_ns, has_python);
		forget_dead(previous);
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	return put_switch(ctx, preempted, previous, next, true);
}

/* For kernels that refuse the program with Python frames. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_plain, bool preempted, struct task_struct *previous,
	     struct task_struct *next)
{
	return put_switch(ctx, preempted, previous, next, false);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	const __u8 one = 1;
	__u32 tgid = child->tgid;

	if (watches_all || tgid == (__u32)parent->tgid || !is_watched(parent->tgid))
		return 0;
	if (bpf_map_update_elem(&watched, &tgid, &one, BPF_ANY))
		count(KERNEL_COUNT_PROCESSES);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_request, struct bio *request)
{
	const __u64 current = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)current, device;

	if (!is_watched(current >> 32))
		return 0;
	device = BPF_CORE_READ(request, bi_bdev, bd_dev);
	bpf_map_update_elem(&disks, &tid, &device, BPF_ANY);
	return 0;
}

/* Every page fault passes here: no table is looked up. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *registers)
{
	const __u32 key = 0;
	struct fault *fault = bpf_map_lookup_elem(&last_faults, &key);

	if (!fault)
		return 0;
	fault->address = address;
	fault->ip = registers->ip;
	fault->sp = registers->sp;
	fault->tid = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* Attached to the events that sample processor time. The sample itself is written after this. */
SEC("perf_event")
int on_sample(void *context)
{
	const __u64 now_ns = bpf_ktime_get_ns();
	struct kernel_python_stack *python =
		read_python(bpf_get_current_task_btf(), PYTHON_OF_SAMPLE);

	if (!python)
		return 1;
	python->time_ns = now_ns;
	if (!send_python(&user_stacks, python))
		count(KERNEL_COUNT_PYTHON_SAMPLES);
	return 1;
}
