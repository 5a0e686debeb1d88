PRAGMA page_size = 512;
CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER);
CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
INSERT INTO rocpd_metadata(tag, value) VALUES('pid', '4711');
INSERT INTO rocpd_string VALUES(1, 'saxpy'), (2, 'KernelExecution'), (3, 'CopyHostToDevice'), (5, 'hipDeviceSynchronize');
INSERT INTO rocpd_op VALUES(1, 0, 1401, 0, 'hwq=0x1 wg=64,2,1 grid=4096,2,1', 1000, 3000, 1, 2), (2, 1, 1402, 0, '', 1500, 2500, 1, 3), (3, -1, 0, 0, '', 900, 4000, 4, 4);
INSERT INTO rocpd_api VALUES(1, 4711, 4712, 800, 6000, 5, 0);
