PRAGMA page_size = 512;
CREATE TABLE compute_workload(workload_id INTEGER PRIMARY KEY, name, sub_name);
CREATE TABLE compute_kernel(kernel_uuid INTEGER PRIMARY KEY, workload_id, kernel_name);
CREATE TABLE compute_dispatch(dispatch_uuid INTEGER PRIMARY KEY, kernel_uuid, dispatch_id, gpu_id, start_timestamp, end_timestamp);
CREATE TABLE compute_pcsampling(pc_sampling_uuid INTEGER PRIMARY KEY, kernel_uuid, source, instruction, count, "offset", count_issue,
  count_stall, stall_reason);
CREATE TABLE compute_kernel_metric_value(value_uuid INTEGER PRIMARY KEY, metric_uuid, kernel_uuid, value_name, value);
INSERT INTO compute_workload VALUES(1, 'pi', 'MI350'), (2, 'gemm', '');
INSERT INTO compute_kernel VALUES(1, 1, 'init'), (2, 1, 'step(float*)'), (3, 2, 'init');
INSERT INTO compute_dispatch VALUES(1, 2, 1, 0, 5000, 9000), (2, 1, 0, 0, 1000, 3000), (3, 3, 0, 1, 2000, 2500), (4, 2, 2, 0, 9500, 9600);
INSERT INTO compute_pcsampling VALUES(1, 2, 'k.cpp:1', 's_waitcnt vmcnt(0)', 50, 16, 8, 42, '{"WAITCNT": 40}'),
  (2, 1, NULL, 's_endpgm', 3, 32, 3, 0, NULL);
INSERT INTO compute_kernel_metric_value VALUES(1, 1, 1, 'Avg', 0.5), (2, 1, 2, 'Avg', 0.25);
