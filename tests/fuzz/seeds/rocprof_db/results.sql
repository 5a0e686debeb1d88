PRAGMA page_size = 512;
BEGIN TRANSACTION;
CREATE TABLE HIP ("BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "args" TEXT, "Index" INTEGER);
CREATE TABLE OPS ("BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER, "tid" INTEGER, "Index" INTEGER);
CREATE TABLE COPY ("BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER, "tid" INTEGER, "Index" INTEGER);
INSERT INTO HIP VALUES (1000, 1300, 4711, 4712, 'hipMemcpy', '', 1), (1400, 1500, 4711, 4712, 'hipLaunchKernel', '', 2), (1600, 1700, 4711, 4712, 'hipFree', '', 3);
INSERT INTO OPS VALUES (1450, 1550, 2, 0, 'saxpy(float*)', 4711, 4712, 2);
INSERT INTO COPY VALUES (1100, 1200, 2, 0, 'CopyHostToDevice', 4711, 4712, 1);
CREATE TABLE KERN ("Index" INTEGER, "KernelName" TEXT, "gpu-id" INTEGER, "queue-id" INTEGER, "pid" INTEGER, "tid" INTEGER, "grd" INTEGER,
                   "wgr" INTEGER, "sig" INTEGER, "DispatchNs" INTEGER, "BeginNs" INTEGER, "EndNs" INTEGER, "CompleteNs" INTEGER);
INSERT INTO KERN VALUES (1, '"saxpy(float*) [clone .kd]"', 2, 0, 4711, 4712, 1024, 64, '0x0', 1420, 1450, 1550, 1560);
COMMIT;
