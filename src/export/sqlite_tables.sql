-- The tables of duet export -f sqlite, schema duet.sqlite/1. Ids are those of the trace. Times are ns from the begin of
-- the recording (--absolute: of CLOCK_MONOTONIC); NULL is what is not known.
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
-- how the recording's clocks relate to the host's; violations: effects before their cause, should be 0
CREATE TABLE clocks (id INTEGER PRIMARY KEY, domain TEXT, method TEXT, offset_ns INTEGER, drift_ppb INTEGER,
error_ns INTEGER, violations INTEGER);
CREATE TABLE processes (id INTEGER PRIMARY KEY, pid INTEGER, parent_pid INTEGER, name TEXT, exe TEXT, command TEXT);
CREATE TABLE threads (id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name TEXT);
CREATE TABLE devices (id INTEGER PRIMARY KEY, key TEXT, name TEXT, vendor TEXT, driver TEXT, platform TEXT,
compute_units INTEGER, memory_bytes INTEGER);
CREATE TABLE queues (id INTEGER PRIMARY KEY, process INTEGER, context INTEGER, device INTEGER, clock INTEGER,
out_of_order INTEGER, timed INTEGER, name TEXT);
CREATE TABLE kernels (id INTEGER PRIMARY KEY, process INTEGER, name TEXT, symbol TEXT);
-- calls of the runtime that launch nothing; waits: it returns when the device is done
CREATE TABLE calls (id INTEGER PRIMARY KEY, thread INTEGER, function TEXT, begin_ns INTEGER, end_ns INTEGER,
result INTEGER, waits INTEGER, argument INTEGER, stack INTEGER);
-- calls that put a command into a queue; result is not 0: it launched nothing; further: another row stands for the call
CREATE TABLE launches (id INTEGER PRIMARY KEY, thread INTEGER, function TEXT, enter_ns INTEGER, exit_ns INTEGER,
result INTEGER, queue INTEGER, correlation INTEGER, command TEXT, kernel INTEGER, name TEXT, blocking INTEGER,
further INTEGER, bytes INTEGER, global_size TEXT, local_size TEXT, stack INTEGER);
-- what devices did. launch: NULL where that is not in the trace; state: matched, rejected or no_launch; in_account: its
-- time is the device's busy time; duration_ns: of those that worked and say how long they took
CREATE TABLE executions (id INTEGER PRIMARY KEY, launch INTEGER, process INTEGER, queue INTEGER, correlation INTEGER,
state TEXT, queued_ns INTEGER, submitted_ns INTEGER, started_ns INTEGER, ended_ns INTEGER, seen_ns INTEGER,
duration_ns INTEGER, status INTEGER, in_account INTEGER);
-- launches without an execution: in flight at the end, or lost
CREATE TABLE in_flight (launch INTEGER PRIMARY KEY);
-- launches without an execution although their queue was past them
CREATE TABLE not_executed (launch INTEGER PRIMARY KEY);
CREATE TABLE dependencies (id INTEGER PRIMARY KEY, process INTEGER, correlation INTEGER, time_ns INTEGER,
handle INTEGER);
-- a thread was found running; weight is in the unit
CREATE TABLE cpu_samples (id INTEGER PRIMARY KEY, thread INTEGER, time_ns INTEGER, cpu INTEGER, source TEXT, mode TEXT,
weight INTEGER, unit TEXT, stack INTEGER);
CREATE TABLE switches (id INTEGER PRIMARY KEY, time_ns INTEGER, cpu INTEGER, previous INTEGER, next INTEGER,
reason TEXT, wait TEXT, holder INTEGER, waker INTEGER, waker_name TEXT, stack INTEGER);
CREATE TABLE instruction_samples (id INTEGER PRIMARY KEY, begin_ns INTEGER, end_ns INTEGER, process INTEGER,
device INTEGER, kernel TEXT, "offset" INTEGER, stall TEXT, count INTEGER, period INTEGER, unit TEXT,
correlation INTEGER, instruction TEXT, stack INTEGER);
-- what the program named itself; open: it was not seen to end; unbegun: nor to begin
CREATE TABLE ranges (id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, domain TEXT, name TEXT, type TEXT,
begin_ns INTEGER, end_ns INTEGER, open INTEGER, unbegun INTEGER, stack INTEGER);
-- one metric of one thing; process, device and cpu NULL: of the machine. type: level (value as it was at end_ns), amount
-- (what came from begin_ns to end_ns: a rate is sum(value) by the sum of the times), ratio (value is a part of "of");
-- shown_unit and factor: what people read is factor times the value, the amount in a second, or value by "of"
CREATE TABLE series (id INTEGER PRIMARY KEY, metric TEXT, instance TEXT, type TEXT, unit TEXT, source TEXT,
process INTEGER, device INTEGER, cpu INTEGER, "limit" INTEGER, interval_ns INTEGER, begin_ns INTEGER, end_ns INTEGER,
shown_unit TEXT, factor REAL);
CREATE TABLE counters (id INTEGER PRIMARY KEY, series INTEGER, begin_ns INTEGER, end_ns INTEGER, value INTEGER,
"of" INTEGER);
-- rows that are not in the trace
CREATE TABLE losses (id INTEGER PRIMARY KEY, process INTEGER, lost TEXT, reason TEXT, count INTEGER, begin_ns INTEGER,
end_ns INTEGER);
-- what each collector could do and could not; state: available, partial or refused, of what the reason is about
CREATE TABLE collectors (id INTEGER PRIMARY KEY, name TEXT, state TEXT, reason TEXT, process INTEGER);
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
