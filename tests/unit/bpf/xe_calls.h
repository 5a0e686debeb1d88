/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/xe_calls.h - made-up calls of the driver xe
 */
#pragma once

#include "abi/xe.h"
#include "made_up_calls.h"

static inline void make_vm(uint64_t file, uint32_t id)
{
	const struct xe_vm_create arguments = {.vm_id = id};

	call_of(file, SUBMIT_XE_VM_CREATE, &arguments);
}

static inline void make_queue(uint64_t file, uint32_t vm, uint32_t id)
{
	const struct xe_exec_queue_create arguments = {
		.vm_id = vm, .exec_queue_id = id, .width = 1, .num_placements = 1};

	call_of(file, SUBMIT_XE_QUEUE_CREATE, &arguments);
}

/* As if it were mapped by its driver. */
static inline void map_buffer(uint64_t file, uint32_t handle, void *bytes)
{
	const struct xe_gem_mmap_offset arguments = {.handle = handle,
						     .offset = (uint64_t)handle << 32};

	call_of(file, SUBMIT_XE_MMAP_OFFSET, &arguments);
	run((struct submit_request){.file = file,
				    .call = SUBMIT_MMAP,
				    .address = (uintptr_t)bytes,
				    .offset = arguments.offset});
}

static inline struct xe_vm_bind_op bind_op(uint32_t handle, uint64_t offset, uint64_t address,
					   uint64_t bytes)
{
	return (struct xe_vm_bind_op){.obj = handle,
				      .obj_offset = offset,
				      .addr = address,
				      .range = bytes,
				      .op = handle ? XE_BIND_MAP : XE_BIND_UNMAP};
}

static inline void bind_one(uint64_t file, uint32_t vm, const struct xe_vm_bind_op *operation)
{
	const struct xe_vm_bind arguments = {.vm_id = vm, .num_binds = 1, .bind = *operation};

	call_of(file, SUBMIT_XE_VM_BIND, &arguments);
}

/* handle 0: unbinds. */
static inline void bind(uint64_t file, uint32_t vm, uint32_t handle, uint64_t offset,
			uint64_t address, uint64_t bytes)
{
	const struct xe_vm_bind_op operation = bind_op(handle, offset, address, bytes);

	bind_one(file, vm, &operation);
}

/* The record of a submission; NULL: there is none. */
static inline const struct submit_record *submit(uint64_t file, uint32_t queue, uint64_t address)
{
	const struct xe_exec arguments = {
		.exec_queue_id = queue, .address = address, .num_batch_buffer = 1};

	take_records();
	call_of(file, SUBMIT_EXEC, &arguments);
	take_records();
	return records_count ? &records[0] : NULL;
}

static inline const struct submit_record *look_again(void)
{
	const uint32_t nothing = 0;

	call_of(FILE_A, SUBMIT_ANY, &nothing);
	take_records();
	return records_count ? &records[0] : NULL;
}

static inline void begin(void)
{
	met_count = 0;
	make_vm(FILE_A, 1);
	make_queue(FILE_A, 1, 1);
	take_records();
	CHECK_EQUAL(met_count, 1);
}

static inline void end(void)
{
	const uint32_t nothing = 0;

	call_of(FILE_A, SUBMIT_FILE_CLOSE, &nothing);
	call_of(FILE_B, SUBMIT_FILE_CLOSE, &nothing);
	call_of(FILE_A, SUBMIT_EXIT, &nothing);
	take_records();
}
