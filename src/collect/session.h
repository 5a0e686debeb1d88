/* SPDX-License-Identifier: MIT
 *
 * collect/session.h - a recording from its start to its end
 */
#ifndef COLLECT_SESSION_H
#define COLLECT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/program.h"
#include "trace/writer.h"

/* Programs inside the kernel. */
enum session_bpf {
	SESSION_BPF_ALLOWED, /* where there are rights to load them */
	SESSION_BPF_WANTED,  /* … and a warning where there are none */
	SESSION_BPF_NONE
};

struct session_options {
	const char *output;
	struct trace_writer_options writer;
	uint64_t duration_ns;  /* 0: until the program ends or a signal comes */
	char *const *command;  /* NULL-terminated; NULL: no program of our own */
	const pid_t *pids;     /* running processes to be recorded … */
	size_t pids_count;     /* … instead of a command; 0: none */
	int owner_fd;          /* … for a process that is one of them; 0: nobody's */
	bool any;              /* every OpenCL process of the machine */
	bool opencl;           /* collect OpenCL at all */
	bool device_time;      /* ask devices for time stamps */
	bool amd;              /* collect ROCm … */
	uint32_t amd_options;  /* … in this way: RING_OPTION_AMD_… */
	bool amd_mode_said;    /* … which the user chose here and not by RTL_MODE */
	bool amd_modes_differ; /* … twice, and not the same */
	const char *rtl_mode;  /* … which names one that nobody knows; NULL: it does not */
	bool amd_no_hip;       /* … without the calls of HIP */
	bool level_zero;       /* collect Level Zero … */
	bool level_zero_time;  /* … with time stamps of its devices */
	bool cpu;              /* collect what threads do on processors and off them … */
	uint32_t frequency_hz; /* … with so many samples a second of a running thread; 0: none */
	const char *event;     /* … taken by this perf event; NULL: the best there is */
	bool faults;           /* … and of page faults */
	enum session_bpf bpf;  /* … and what only programs inside the kernel can tell */
	bool interrupts;       /* … and what interrupts take of its time */
	bool native_stacks;    /* of launches and waits … */
	bool python_stacks;    /* … with the Python functions in them */
	bool ranges;           /* collect what the program names itself … */
	bool ranges_preload;   /* … by LD_PRELOAD whether ROCm is found or not */
	uint32_t system_hz;    /* collect counters of the machine so often a second; 0: not */
	bool system_smaps;     /* … with what walks all pages of each process */
	uint32_t nvidia_hz;    /* collect counters of NVIDIA's GPUs so often a second; 0: not */
	bool nvidia_hz_said;   /* … which the user asked for beside CUDA */
	uint32_t nvidia_pm_hz; /* … and by their hardware, so often a second; 0: not */
	bool cuda;             /* collect CUDA … */
	bool cuda_graphs;      /* … with a launch of a graph as one command */
	bool cuda_latency;     /* … with times when kernels were queued and submitted */
	bool cuda_waits;       /* … with waits as CUPTI tells of them */
	bool cuda_pc;          /* … with samples of what its kernels execute … */
	bool cuda_pc_exact;    /* … of one kernel at a time */
	bool cuda_said;        /* … by an option that records something of it */
	bool cuda_idle;        /* … with its guest there and nothing switched on … */
	bool cuda_subscribed;  /* … but for the subscription */
	/* … in windows of so many ms in each so many ms; 0: as usual */
	uint32_t cuda_pc_window_ms, cuda_pc_period_ms;
	uint32_t drm_hz;       /* … of GPUs that the kernel has a DRM driver for */
	bool drm_jobs;         /* … and what they did for whom */
	bool drm_engines;      /* … and how busy engines are, also where that keeps a GPU awake */
	bool intel;            /* collect what Intel's GPUs execute … */
	uint64_t intel_cycles; /* … sampled each time after so many cycles; 0: as usual */
	uint32_t intel_oa_hz;  /* … and what their OA units count, so often a second; 0: not */
	char intel_oa_set[64]; /* … by which metric set of the driver's list; "": duet's own */
	bool intel_no_driver;  /* … without what their drivers see being handed to them */
	bool intel_syscalls;   /* … or with it, if it has to be in all system calls */
	uint32_t intel_ring_mib; /* … of which so much may wait to be read, in MiB; 0: as usual */
	bool intel_debug;        /* … with code objects as debuggers are told them */
	bool intel_debug_stops;  /* … and threads of one process stopped and counted … */
	uint32_t intel_debug_pid; /* … this one; 0: the program that is started */
	/* that tables of samples may take, with what the recorder needs beside; 0: as usual */
	uint64_t memory_bytes;
	bool preload; /* LD_PRELOAD instead of a loader's layer */
	const char *
		archive; /* folder for files that may be gone when the recording ends; NULL: none */
	const char *guest;            /* path of libduet-opencl.so; NULL: not installed */
	const char *rocm_guest;       /* path of libduet-rocm.so; the same */
	const char *cuda_guest;       /* … of libduet-cuda.so */
	const char *level_zero_guest; /* … of libduet-level_zero.so */
	const char *ranges_guest;     /* … and of libduet-ranges.so */
	struct program_user user;
	/* Told of what a user should see while it is recorded: a line. NULL: nobody. */
	void (*on_warning)(void *context, const char *text);
	void (*on_hint)(void *context,
			const char *text); /* … who looks at a terminal, or asks for it */
	void *warning_context;
};

struct session_result {
	int program_status; /* wait status; only with has_program */
	bool has_program;
	bool interrupted;   /* a second signal: the program was not waited for */
	int signal;         /* that signal */
	bool has_others;    /* collectors that recorded beside guests */
	uint32_t processes; /* whose guests had something recorded */
	uint32_t survivors; /* of those, still alive at the end and left alone */
	uint64_t rows, rows_lost, bytes;
	int write_error; /* -errno of the first failed write */
	char note[512];  /* what the user should know, "" if nothing */
	char left
		[400]; /* what the program has started and still runs, in a sentence; "" if nothing */
	const char *missed; /* the runtime that the note is of; NULL: OpenCL */
};

/* By which variable of its environment the program's loader finds the guest: what was asked for, or what
 * this loader and this program allow. NULL: none, and *ret_why says why. */
const char *session_way(const struct session_options *options, const char **ret_why);

/* Whether a session could be told so: -errno with the error chain as of session_run where a collector says no. */
int session_check(const struct session_options *options);

/* Records. Errors: -errno with the error chain set, nothing recorded; *ret_exec_error is what exec said of
 * the program, 0 where the trouble is our own. */
int session_run(const struct session_options *options, struct session_result *ret_result,
		int *ret_exec_error);

#endif
