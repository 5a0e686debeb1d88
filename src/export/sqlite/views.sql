-- Made when the tables are full.
CREATE INDEX calls_begin ON calls (begin_ns);
CREATE INDEX launches_enter ON launches (enter_ns);
CREATE INDEX executions_started ON executions (started_ns);
CREATE INDEX executions_launch ON executions (launch);
CREATE INDEX cpu_samples_thread ON cpu_samples (thread, time_ns);
CREATE INDEX ranges_begin ON ranges (begin_ns);
-- executions with what their launch says
CREATE VIEW commands AS
SELECT e.id, e.state, coalesce(l.name, '[no launch]') AS name, l.command, q.device, e.queue, e.process, l.thread,
l.function, l.enter_ns, l.exit_ns, e.queued_ns, e.submitted_ns, e.started_ns, e.ended_ns, e.duration_ns, l.bytes,
l.stack, e.in_account
FROM executions AS e LEFT JOIN launches AS l ON l.id = e.launch
LEFT JOIN queues AS q ON q.id = coalesce(e.queue, l.queue);
CREATE VIEW top_kernels AS
SELECT c.name AS kernel, d.name AS device, count(*) AS count, count(duration_ns) AS timed,
sum(duration_ns) AS total_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns
FROM commands AS c LEFT JOIN devices AS d ON d.id = c.device WHERE command = 'kernel' AND state = 'matched'
GROUP BY 1, c.device ORDER BY total_ns DESC, 1;
CREATE VIEW top_copies AS
SELECT command, d.name AS device, count(*) AS count, count(duration_ns) AS timed, sum(bytes) AS bytes,
sum(duration_ns) AS total_ns
FROM commands AS c LEFT JOIN devices AS d ON d.id = c.device WHERE command <> 'kernel' AND state = 'matched'
GROUP BY 1, c.device ORDER BY total_ns DESC, 1;
CREATE VIEW top_calls AS
SELECT function, count(*) AS count, sum(result <> 0) AS failed, sum(length_ns) AS total_ns FROM
(SELECT function, result, end_ns - begin_ns AS length_ns FROM calls UNION ALL
SELECT function, result, exit_ns - enter_ns FROM launches WHERE NOT further) GROUP BY 1 ORDER BY total_ns DESC, 1;
-- how long a device had something to do: a union, so that what runs at once counts once
CREATE VIEW busy AS
WITH window AS (SELECT (SELECT value FROM meta WHERE key = 'from_ns') AS first,
(SELECT value FROM meta WHERE key = 'to_ns') AS last),
spans AS (SELECT q.device, max(started_ns, w.first) AS begin, min(ended_ns, w.last) AS end
FROM executions AS e, window AS w LEFT JOIN launches AS l ON l.id = e.launch
LEFT JOIN queues AS q ON q.id = coalesce(e.queue, l.queue) WHERE in_account),
steps AS (SELECT device, begin, end, max(end) OVER (PARTITION BY device ORDER BY begin, end
ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM spans WHERE end > begin)
SELECT id - 1 AS gpuId, 100.0 * busy_ns / wall_ns AS utilization_pct, ops, busy_ns, wall_ns, id, device,
100.0 * busy_ns / wall_ns AS percent
FROM (SELECT s.device AS id, d.name AS device, sum(max(0, end - max(begin, coalesce(before, begin)))) AS busy_ns,
w.last - w.first AS wall_ns, count(*) AS ops
FROM steps AS s, window AS w LEFT JOIN devices AS d ON d.id = s.device GROUP BY s.device);
-- the frames of each stack, depth 0 is the innermost
CREATE VIEW stack_frames AS
WITH RECURSIVE walk (stack, depth, caller, frame) AS (SELECT id, 0, caller, frame FROM stacks UNION ALL
SELECT w.stack, w.depth + 1, s.caller, s.frame FROM walk AS w JOIN stacks AS s ON s.id = w.caller)
SELECT w.stack, w.depth, n.function, n.file, n.line, n.kind FROM walk AS w
JOIN frame_names AS n ON n.frame = w.frame;
-- processor time by the function in which threads were found
CREATE VIEW top_functions AS
SELECT n.function, c.source, count(*) AS samples, sum(c.weight) AS weight, c.unit FROM cpu_samples AS c
LEFT JOIN stacks AS s ON s.id = c.stack LEFT JOIN frame_names AS n ON n.frame = s.frame
AND n.depth = (SELECT max(depth) FROM frame_names WHERE frame = s.frame)
GROUP BY 1, 2 ORDER BY weight DESC, 1;
-- What follows, and the first five columns of busy, has the names and the order of rocm-trace-lite's files, so that what is
-- written for these asks here too. gpuId is the device's id less one; process, thread, device and launch are added.
CREATE VIEW rocpd_names AS
SELECT launch, type, CASE WHEN type LIKE 'Copy%' THEN type || ':' || coalesce(bytes, 0) ELSE name END AS description FROM
(SELECT id AS launch, name, bytes, CASE command WHEN 'kernel' THEN 'KernelExecution' WHEN 'write' THEN 'CopyHostToDevice'
WHEN 'read' THEN 'CopyDeviceToHost' WHEN 'copy' THEN 'CopyDeviceToDevice' WHEN 'fill' THEN 'FillBuffer'
WHEN 'barrier' THEN 'Barrier' ELSE 'Other' END AS type FROM launches);
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT UNIQUE);
INSERT INTO rocpd_string (string) SELECT '' UNION SELECT coalesce(description, '') FROM rocpd_names UNION SELECT type FROM rocpd_names
UNION SELECT function FROM launches UNION SELECT function FROM calls UNION SELECT '[no launch]' UNION SELECT 'Other'
UNION SELECT 'UserMarker' UNION SELECT name FROM ranges;
-- what devices did and when, where that is known, then ranges as markers of GPU -1; completionSignal is sizes, the name of a
-- copy has its bytes, and roctxId is the range in which the launch was made: all as in rocm-trace-lite's files
CREATE VIEW rocpd_op AS
SELECT c.id, c.device - 1 AS gpuId, c.queue AS queueId, coalesce(l.correlation, 0) AS sequenceId,
'wg=' || coalesce(replace(l.local_size, 'x', ','), '') || ' grid=' || coalesce(replace(l.global_size, 'x', ','), '')
AS completionSignal, c.started_ns AS start, c.ended_ns AS end,
(SELECT id FROM rocpd_string WHERE string = coalesce(n.description, c.name)) AS description_id,
(SELECT id FROM rocpd_string WHERE string = coalesce(n.type, 'Other')) AS opType_id, coalesce(e."range", 0) AS roctxId,
c.process, c.thread, c.device, e.launch
FROM commands AS c JOIN executions AS e ON e.id = c.id LEFT JOIN launches AS l ON l.id = e.launch
LEFT JOIN rocpd_names AS n ON n.launch = e.launch WHERE c.duration_ns IS NOT NULL AND c.device IS NOT NULL UNION ALL
SELECT (SELECT coalesce(max(id), 0) FROM executions) + id, -1, 0, 0, '', begin_ns, end_ns,
(SELECT id FROM rocpd_string WHERE string = name), (SELECT id FROM rocpd_string WHERE string = 'UserMarker'), id, process,
thread, NULL, NULL FROM ranges;
-- calls: those that launch have even ids, the others odd ones
CREATE VIEW rocpd_api AS
SELECT a.id, p.pid, t.tid, a.start, a.end, (SELECT id FROM rocpd_string WHERE string = a.function) AS apiName_id,
(SELECT id FROM rocpd_string WHERE string = '') AS args_id, a.function, t.process, a.thread
FROM (SELECT 2 * id AS id, thread, enter_ns AS start, exit_ns AS end, function FROM launches WHERE NOT further UNION ALL
SELECT 2 * id + 1, thread, begin_ns, end_ns, function FROM calls) AS a
LEFT JOIN threads AS t ON t.id = a.thread LEFT JOIN processes AS p ON p.id = t.process;
-- what a call launched further belongs to the row that stands for the call: the last one before it of its thread
CREATE VIEW rocpd_api_ops AS
WITH called AS (SELECT id, max(CASE WHEN NOT further THEN id END) OVER (PARTITION BY thread ORDER BY id) AS first FROM launches)
SELECT e.id, 2 * c.first AS api_id, e.id AS op_id FROM executions AS e JOIN called AS c ON c.id = e.launch
WHERE c.first IS NOT NULL AND e.duration_ns IS NOT NULL ORDER BY e.id;
CREATE VIEW rocpd_metadata AS SELECT id, 'pid' AS tag, CAST(pid AS TEXT) AS value FROM processes;
CREATE VIEW top AS
SELECT Name, Calls, TotalNs, TotalNs / Calls AS AvgNs, MinNs, MaxNs, 100.0 * TotalNs / nullif(sum(TotalNs) OVER (), 0) AS Pct
FROM (SELECT name AS Name, count(*) AS Calls, sum(duration_ns) AS TotalNs, min(duration_ns) AS MinNs,
max(duration_ns) AS MaxNs FROM commands WHERE duration_ns IS NOT NULL AND device IS NOT NULL GROUP BY name)
ORDER BY TotalNs DESC, Name;
-- readings with what they are of, as people read them
CREATE VIEW readings AS
SELECT c.id, s.metric, s.instance, p.pid, d.name AS device, s.cpu, c.begin_ns, c.end_ns, s.factor * CASE s.type
WHEN 'level' THEN c.value WHEN 'amount' THEN c.value * 1e9 / nullif(c.end_ns - c.begin_ns, 0)
ELSE 1.0 * c.value / nullif(c."of", 0) END AS shown, s.shown_unit AS unit, c.series
FROM counters AS c JOIN series AS s ON s.id = c.series LEFT JOIN processes AS p ON p.id = s.process
LEFT JOIN devices AS d ON d.id = s.device;
-- a series a row: means are sums by sums, so that a long reading counts as much as it is long
CREATE VIEW metrics AS
SELECT s.id AS series, s.metric, s.instance, r.pid, r.device, s.cpu, s.shown_unit AS unit, count(r.shown) AS readings,
sum(c.end_ns - c.begin_ns) AS covered_ns, min(r.shown) AS min, CASE s.type
WHEN 'level' THEN coalesce(s.factor * sum(1.0 * c.value * (c.end_ns - c.begin_ns)) / nullif(sum(c.end_ns - c.begin_ns), 0), max(r.shown))
WHEN 'amount' THEN s.factor * sum(1.0 * c.value) * 1e9 / nullif(sum(c.end_ns - c.begin_ns), 0)
ELSE s.factor * sum(1.0 * c.value) / nullif(sum(1.0 * c."of"), 0) END AS mean, max(r.shown) AS max
FROM series AS s JOIN counters AS c ON c.series = s.id JOIN readings AS r ON r.id = c.id GROUP BY s.id;
