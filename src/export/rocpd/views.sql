-- The views of rocprofv3's SQLite files that join the tables, with the same columns. Made when the tables are full.
CREATE VIEW processes AS
SELECT n.id AS nid, n.machine_id, n.system_name, n.hostname, n.release AS system_release, n.version AS system_version,
p.guid, p.ppid, p.pid, p.init, p.start, p."end", p.fini, p.command
FROM rocpd_info_process AS p JOIN rocpd_info_node AS n ON n.id = p.nid;
CREATE VIEW threads AS
SELECT n.id AS nid, n.machine_id, n.system_name, n.hostname, n.release AS system_release, n.version AS system_version,
t.guid, p.ppid, p.pid, t.tid, t.start, t."end", t.name
FROM rocpd_info_thread AS t JOIN rocpd_info_process AS p ON p.id = t.pid JOIN rocpd_info_node AS n ON n.id = t.nid;
CREATE VIEW code_objects AS
SELECT c.id, c.guid, c.nid, p.pid, a.absolute_index AS agent_abs_index, c.uri, c.load_base, c.load_size, c.load_delta,
c.storage_type AS storage_type_str, json_extract(c.extdata, '$.size') AS code_object_size,
json_extract(c.extdata, '$.storage_type') AS storage_type, json_extract(c.extdata, '$.memory_base') AS memory_base,
json_extract(c.extdata, '$.memory_size') AS memory_size
FROM rocpd_info_code_object AS c JOIN rocpd_info_agent AS a ON a.id = c.agent_id JOIN rocpd_info_process AS p ON p.id = c.pid;
CREATE VIEW kernel_symbols AS
SELECT k.id, k.guid, k.nid, p.pid, k.code_object_id, k.kernel_name, k.display_name, k.kernel_object, k.kernarg_segment_size,
k.kernarg_segment_alignment, k.group_segment_size, k.private_segment_size, k.sgpr_count, k.arch_vgpr_count,
k.accum_vgpr_count, json_extract(k.extdata, '$.size') AS kernel_symbol_size, json_extract(k.extdata, '$.kernel_id') AS kernel_id,
json_extract(k.extdata, '$.kernel_code_entry_byte_offset') AS kernel_code_entry_byte_offset,
json_extract(k.extdata, '$.formatted_kernel_name') AS formatted_kernel_name,
json_extract(k.extdata, '$.demangled_kernel_name') AS demangled_kernel_name,
json_extract(k.extdata, '$.truncated_kernel_name') AS truncated_kernel_name,
json_extract(k.extdata, '$.kernel_address.handle') AS kernel_address
FROM rocpd_info_kernel_symbol AS k JOIN rocpd_info_process AS p ON p.id = k.pid;
CREATE VIEW regions AS
SELECT r.id, r.guid, c.string AS category, s.string AS name, r.nid, p.pid, t.tid, r.start, r."end",
r."end" - r.start AS duration, r.event_id, e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id, e.extdata,
e.call_stack, e.line_info
FROM rocpd_region AS r JOIN rocpd_event AS e ON e.id = r.event_id JOIN rocpd_string AS s ON s.id = r.name_id
JOIN rocpd_string AS c ON c.id = e.category_id JOIN rocpd_info_process AS p ON p.id = r.pid
JOIN rocpd_info_thread AS t ON t.id = r.tid;
CREATE VIEW region_args AS
SELECT r.id, r.guid, r.nid, p.pid, a.type, a.name, a.value
FROM rocpd_region AS r JOIN rocpd_arg AS a ON a.event_id = r.event_id JOIN rocpd_info_process AS p ON p.id = r.pid;
CREATE VIEW samples AS
SELECT s.id, s.guid, c.string AS category, n.string AS name, k.nid, p.pid, t.tid, s.timestamp, s.event_id, e.stack_id,
e.parent_stack_id, e.correlation_id AS corr_id, e.extdata, e.call_stack, e.line_info
FROM rocpd_sample AS s JOIN rocpd_track AS k ON k.id = s.track_id JOIN rocpd_event AS e ON e.id = s.event_id
JOIN rocpd_string AS c ON c.id = e.category_id JOIN rocpd_string AS n ON n.id = k.name_id
JOIN rocpd_info_process AS p ON p.id = k.pid JOIN rocpd_info_thread AS t ON t.id = k.tid;
CREATE VIEW sample_regions AS
SELECT id, guid, category, name, nid, pid, tid, timestamp AS start, timestamp AS "end", 0 AS duration, event_id, stack_id,
parent_stack_id, corr_id, extdata, call_stack, line_info FROM samples;
CREATE VIEW regions_and_samples AS SELECT * FROM regions UNION ALL SELECT * FROM sample_regions;
CREATE VIEW kernels AS
SELECT k.id, k.guid, t.tid, c.string AS category, r.string AS region, s.display_name AS name, k.nid, p.pid,
a.absolute_index AS agent_abs_index, a.logical_index AS agent_log_index, a.type_index AS agent_type_index,
a.type AS agent_type, s.code_object_id, k.kernel_id, k.dispatch_id, k.stream_id, k.queue_id, q.name AS queue,
x.name AS stream, k.start, k."end", k."end" - k.start AS duration, k.grid_size_x AS grid_x, k.grid_size_y AS grid_y,
k.grid_size_z AS grid_z, k.workgroup_size_x AS workgroup_x, k.workgroup_size_y AS workgroup_y,
k.workgroup_size_z AS workgroup_z, k.group_segment_size AS lds_size, k.private_segment_size AS scratch_size,
s.arch_vgpr_count AS vgpr_count, s.accum_vgpr_count, s.sgpr_count, s.group_segment_size AS static_lds_size,
s.private_segment_size AS static_scratch_size, e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id
FROM rocpd_kernel_dispatch AS k JOIN rocpd_info_agent AS a ON a.id = k.agent_id JOIN rocpd_event AS e ON e.id = k.event_id
JOIN rocpd_string AS c ON c.id = e.category_id JOIN rocpd_string AS r ON r.id = k.region_name_id
JOIN rocpd_info_kernel_symbol AS s ON s.id = k.kernel_id LEFT JOIN rocpd_info_stream AS x ON x.id = k.stream_id
LEFT JOIN rocpd_info_queue AS q ON q.id = k.queue_id JOIN rocpd_info_process AS p ON p.id = k.pid
JOIN rocpd_info_thread AS t ON t.id = k.tid;
CREATE VIEW memory_copies AS
SELECT m.id, m.guid, c.string AS category, m.nid, p.pid, t.tid, m.start, m."end", m."end" - m.start AS duration,
s.string AS name, r.string AS region_name, m.stream_id, m.queue_id, x.name AS stream_name, q.name AS queue_name, m.size,
d.name AS dst_device, d.absolute_index AS dst_agent_abs_index, d.logical_index AS dst_agent_log_index,
d.type_index AS dst_agent_type_index, d.type AS dst_agent_type, m.dst_address, f.name AS src_device,
f.absolute_index AS src_agent_abs_index, f.logical_index AS src_agent_log_index, f.type_index AS src_agent_type_index,
f.type AS src_agent_type, m.src_address, e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id
FROM rocpd_memory_copy AS m JOIN rocpd_string AS s ON s.id = m.name_id LEFT JOIN rocpd_string AS r ON r.id = m.region_name_id
LEFT JOIN rocpd_info_agent AS d ON d.id = m.dst_agent_id LEFT JOIN rocpd_info_agent AS f ON f.id = m.src_agent_id
LEFT JOIN rocpd_info_queue AS q ON q.id = m.queue_id LEFT JOIN rocpd_info_stream AS x ON x.id = m.stream_id
JOIN rocpd_event AS e ON e.id = m.event_id JOIN rocpd_string AS c ON c.id = e.category_id
JOIN rocpd_info_process AS p ON p.id = m.pid JOIN rocpd_info_thread AS t ON t.id = m.tid;
CREATE VIEW pmc_info AS
SELECT i.id, i.guid, i.nid, p.pid, a.absolute_index AS agent_abs_index, i.is_constant, i.is_derived, i.name, i.description,
i.block, i.expression
FROM rocpd_info_pmc AS i JOIN rocpd_info_agent AS a ON a.id = i.agent_id JOIN rocpd_info_process AS p ON p.id = i.pid;
CREATE VIEW pmc_events AS
SELECT v.id, v.guid, v.pmc_id, e.id AS event_id, c.string AS category, s.display_name AS name, k.nid, p.pid, k.dispatch_id,
k.start, k."end", k."end" - k.start AS duration, i.name AS counter_name, v.value AS counter_value
FROM rocpd_pmc_event AS v JOIN rocpd_info_pmc AS i ON i.id = v.pmc_id JOIN rocpd_event AS e ON e.id = v.event_id
JOIN rocpd_string AS c ON c.id = e.category_id JOIN rocpd_kernel_dispatch AS k ON k.event_id = v.event_id
JOIN rocpd_info_kernel_symbol AS s ON s.id = k.kernel_id JOIN rocpd_info_process AS p ON p.id = k.pid;
CREATE VIEW counters_collection AS
SELECT min(v.id) AS id, v.guid, k.dispatch_id, k.kernel_id, k.event_id, e.correlation_id, e.stack_id, e.parent_stack_id,
p.pid, t.tid, k.agent_id, a.absolute_index AS agent_abs_index, a.logical_index AS agent_log_index,
a.type_index AS agent_type_index, a.type AS agent_type, k.queue_id, k.grid_size_x, k.grid_size_y, k.grid_size_z,
k.grid_size_x * k.grid_size_y * k.grid_size_z AS grid_size, s.display_name AS kernel_name, r.string AS kernel_region,
k.workgroup_size_x, k.workgroup_size_y, k.workgroup_size_z,
k.workgroup_size_x * k.workgroup_size_y * k.workgroup_size_z AS workgroup_size, k.group_segment_size AS lds_block_size,
k.private_segment_size AS scratch_size, s.arch_vgpr_count AS vgpr_count, s.accum_vgpr_count, s.sgpr_count,
i.name AS counter_name, i.symbol AS counter_symbol, i.component, i.description, i.block, i.expression, i.value_type,
i.id AS counter_id, sum(v.value) AS value, k.start, k."end", i.is_constant, i.is_derived, k."end" - k.start AS duration,
c.string AS category, k.nid, e.extdata, s.code_object_id
FROM rocpd_pmc_event AS v JOIN rocpd_info_pmc AS i ON i.id = v.pmc_id JOIN rocpd_event AS e ON e.id = v.event_id
JOIN rocpd_kernel_dispatch AS k ON k.event_id = v.event_id JOIN rocpd_info_agent AS a ON a.id = k.agent_id
JOIN rocpd_info_kernel_symbol AS s ON s.id = k.kernel_id JOIN rocpd_string AS c ON c.id = e.category_id
JOIN rocpd_string AS r ON r.id = k.region_name_id JOIN rocpd_info_process AS p ON p.id = k.pid
JOIN rocpd_info_thread AS t ON t.id = k.tid GROUP BY v.guid, k.dispatch_id, i.name, k.agent_id;
-- times of the next views are in us
CREATE VIEW top_kernels AS
SELECT name, count(*) AS total_calls, sum(duration) / 1000.0 AS total_duration, sum(duration) / count(*) / 1000.0 AS average,
sum(duration) * 100.0 / (SELECT sum("end" - start) FROM rocpd_kernel_dispatch) AS percentage
FROM kernels GROUP BY name ORDER BY total_duration DESC;
CREATE VIEW top AS
WITH rows AS (SELECT s.display_name AS name, k."end" - k.start AS duration FROM rocpd_kernel_dispatch AS k
JOIN rocpd_info_kernel_symbol AS s ON s.id = k.kernel_id UNION ALL
SELECT s.string, m."end" - m.start FROM rocpd_memory_copy AS m JOIN rocpd_string AS s ON s.id = m.name_id UNION ALL
SELECT s.string, r."end" - r.start FROM rocpd_region AS r JOIN rocpd_string AS s ON s.id = r.name_id)
SELECT name, count(*) AS total_calls, sum(duration) / 1000.0 AS total_duration, sum(duration) / count(*) / 1000.0 AS average,
sum(duration) * 100.0 / (SELECT sum(duration) FROM rows) AS percentage FROM rows GROUP BY name ORDER BY total_duration DESC;
CREATE VIEW busy AS
WITH rows AS (SELECT agent_id, start, "end" FROM rocpd_kernel_dispatch UNION ALL
SELECT dst_agent_id, start, "end" FROM rocpd_memory_copy)
SELECT r.agent_id, a.type, sum(r."end" - r.start) AS GpuTime, w.WallTime, sum(r."end" - r.start) * 1.0 / w.WallTime AS Busy
FROM rows AS r JOIN rocpd_info_agent AS a ON a.id = r.agent_id,
(SELECT max("end") - min(start) AS WallTime FROM rows) AS w GROUP BY r.agent_id;
