-- The tables of duet export -f sqlite, schema duet.sqlite/1. Ids are those of the trace. Times are ns from the begin of
-- the recording (--absolute: of CLOCK_MONOTONIC); NULL is what is not known.
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
-- how the recording's clocks relate to the host's; violations: effects before their cause, should be 0
CREATE TABLE clocks (id INTEGER PRIMARY KEY, domain TEXT, method TEXT, offset_ns INTEGER, drift_ppb INTEGER,
error_ns INTEGER, violations INTEGER);
CREATE TABLE processes (@);
CREATE TABLE threads (@);
CREATE TABLE devices (@);
CREATE TABLE queues (@);
CREATE TABLE kernels (@);
-- calls of the runtime that launch nothing; waits: it returns when the device is done
CREATE TABLE calls (@);
-- work of duet's own guest in a thread of the program; it is no call
CREATE TABLE duet_sections (@);
-- calls that put a command into a queue; result is not 0: it launched nothing; further: another row stands for the call
CREATE TABLE launches (@);
-- what devices did. launch: NULL where that is not in the trace; state: matched, rejected or no_launch; in_account: its
-- time is the device's busy time; duration_ns: of those that worked and say how long they took; range: the innermost one of
-- its launch's thread
CREATE TABLE executions (id INTEGER PRIMARY KEY, launch INTEGER, process INTEGER, queue INTEGER, correlation INTEGER,
state TEXT, queued_ns INTEGER, submitted_ns INTEGER, started_ns INTEGER, ended_ns INTEGER, seen_ns INTEGER,
duration_ns INTEGER, status INTEGER, in_account INTEGER, "range" INTEGER,
-- of commands of GPUs: the memories and devices of a copy or fill, why managed memory moved, the graph and its node, and
-- the clusters and local memory of a kernel
hardware_queue INTEGER, source_memory TEXT, destination_memory TEXT, source_device INTEGER, destination_device INTEGER,
migration TEXT, graph INTEGER, graph_node INTEGER, cluster_x INTEGER, cluster_y INTEGER, cluster_z INTEGER,
local_bytes INTEGER);
-- launches without an execution: in flight at the end, or lost
CREATE TABLE in_flight (launch INTEGER PRIMARY KEY);
-- launches without an execution although their queue was past them
CREATE TABLE not_executed (launch INTEGER PRIMARY KEY);
CREATE TABLE dependencies (@);
-- a thread was found running; weight is in the unit
CREATE TABLE cpu_samples (@);
CREATE TABLE switches (@);
CREATE TABLE instruction_samples (@);
-- what the program named itself; open: it was not seen to end; unbegun: nor to begin
CREATE TABLE ranges (@);
-- collective operations of ranks; sequence numbers count within a communicator
CREATE TABLE collectives (@);
-- one metric of one thing; process, device and cpu NULL: of the machine. type: level (value as it was at end_ns), amount
-- (what came from begin_ns to end_ns: a rate is sum(value) by the sum of the times), ratio (value is a part of "of");
-- shown_unit and factor: what people read is factor times the value, the amount in a second, or value by "of"
CREATE TABLE series (@);
CREATE TABLE counters (@);
-- rows that are not in the trace
CREATE TABLE losses (@);
-- what each collector could do and could not; state: available, partial or refused, of what the reason is about
CREATE TABLE collectors (@);
-- a stack is its innermost frame and the stack of its caller; NULL: the outermost
CREATE TABLE stacks (id INTEGER PRIMARY KEY, caller INTEGER, frame INTEGER);
CREATE TABLE frames (id INTEGER PRIMARY KEY, module TEXT, build_id TEXT, "offset" INTEGER);
-- the functions of a frame, outermost first: inlined ones have depth 1 and more
CREATE TABLE frame_names (frame INTEGER, depth INTEGER, function TEXT, file TEXT, line INTEGER, kind TEXT,
PRIMARY KEY (frame, depth)) WITHOUT ROWID;
-- launched = matched + not_executed + in_flight_at_exit + dropped + rejected, of the whole trace
CREATE TABLE ledger (name TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
-- each device's time, exactly: part busy or idle, what it was busy with or waited for
CREATE TABLE account (device INTEGER, part TEXT, what TEXT, time_ns INTEGER);
