-- The tables of rocprofv3's SQLite files, schema 3. @ stands for the file's uuid, # for its guid. Each table has a view
-- without the uuid: readers unite the views of several files.
CREATE TABLE "rocpd_metadata@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT
NULL);
CREATE VIEW rocpd_metadata AS SELECT * FROM "rocpd_metadata@";
CREATE TABLE "rocpd_string@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, string
TEXT NOT NULL UNIQUE ON CONFLICT ABORT);
CREATE VIEW rocpd_string AS SELECT * FROM "rocpd_string@";
CREATE TABLE "rocpd_info_node@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, hash
BIGINT NOT NULL UNIQUE, machine_id TEXT NOT NULL UNIQUE, system_name TEXT, hostname TEXT, release TEXT, version TEXT,
hardware_name TEXT, domain_name TEXT);
CREATE VIEW rocpd_info_node AS SELECT * FROM "rocpd_info_node@";
CREATE TABLE "rocpd_info_process@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, init BIGINT, fini BIGINT, start BIGINT, "end" BIGINT, command
TEXT, environment JSONB DEFAULT '{}' NOT NULL, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_process AS SELECT * FROM "rocpd_info_process@";
CREATE TABLE "rocpd_info_thread@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, start BIGINT, "end" BIGINT,
extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_thread AS SELECT * FROM "rocpd_info_thread@";
CREATE TABLE "rocpd_info_agent@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, type TEXT CHECK (type IN ('CPU', 'GPU')), absolute_index INTEGER,
logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT, product_name
TEXT, user_name TEXT, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_agent AS SELECT * FROM "rocpd_info_agent@";
CREATE TABLE "rocpd_info_queue@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_queue AS SELECT * FROM "rocpd_info_queue@";
CREATE TABLE "rocpd_info_stream@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_stream AS SELECT * FROM "rocpd_info_stream@";
CREATE TABLE "rocpd_info_pmc@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, target_arch TEXT CHECK (target_arch IN ('CPU', 'GPU')),
event_code INT, instance_id INTEGER, name TEXT NOT NULL, symbol TEXT NOT NULL, description TEXT, long_description TEXT
DEFAULT '', component TEXT, units TEXT DEFAULT '', value_type TEXT CHECK (value_type IN ('ABS', 'ACCUM', 'RELATIVE')),
block TEXT, expression TEXT, is_constant INTEGER, is_derived INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_pmc AS SELECT * FROM "rocpd_info_pmc@";
CREATE TABLE "rocpd_info_code_object@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL,
nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, uri TEXT, load_base BIGINT, load_size BIGINT, load_delta
BIGINT, storage_type TEXT CHECK (storage_type IN ('FILE', 'MEMORY')), extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_code_object AS SELECT * FROM "rocpd_info_code_object@";
CREATE TABLE "rocpd_info_kernel_symbol@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT
NULL, nid INTEGER NOT NULL, pid INTEGER NOT NULL, code_object_id INTEGER NOT NULL, kernel_name TEXT, display_name
TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER, group_segment_size
INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, extdata
JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_info_kernel_symbol AS SELECT * FROM "rocpd_info_kernel_symbol@";
CREATE TABLE "rocpd_track@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER, tid INTEGER, name_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_track AS SELECT * FROM "rocpd_track@";
CREATE TABLE "rocpd_event@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL,
category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB DEFAULT '{}'
NOT NULL, line_info JSONB DEFAULT '{}' NOT NULL, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_event AS SELECT * FROM "rocpd_event@";
CREATE TABLE "rocpd_arg@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, event_id
INTEGER NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, value TEXT, extdata JSONB DEFAULT
'{}' NOT NULL);
CREATE VIEW rocpd_arg AS SELECT * FROM "rocpd_arg@";
CREATE TABLE "rocpd_pmc_event@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL,
event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL DEFAULT 0.0, extdata JSONB DEFAULT '{}');
CREATE VIEW rocpd_pmc_event AS SELECT * FROM "rocpd_pmc_event@";
CREATE TABLE "rocpd_region@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL, name_id
INTEGER NOT NULL, event_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_region AS SELECT * FROM "rocpd_region@";
CREATE TABLE "rocpd_sample@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, track_id
INTEGER NOT NULL, timestamp BIGINT NOT NULL, event_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_sample AS SELECT * FROM "rocpd_sample@";
CREATE TABLE "rocpd_kernel_dispatch@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL,
nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER NOT NULL, kernel_id INTEGER NOT NULL,
dispatch_id INTEGER NOT NULL, queue_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, start BIGINT NOT NULL, "end"
BIGINT NOT NULL, private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER NOT NULL,
workgroup_size_y INTEGER NOT NULL, workgroup_size_z INTEGER NOT NULL, grid_size_x INTEGER NOT NULL, grid_size_y
INTEGER NOT NULL, grid_size_z INTEGER NOT NULL, region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}'
NOT NULL);
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM "rocpd_kernel_dispatch@";
CREATE TABLE "rocpd_memory_copy@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL, nid
INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, start BIGINT NOT NULL, "end" BIGINT NOT NULL, name_id INTEGER NOT
NULL, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER NOT NULL,
queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_memory_copy AS SELECT * FROM "rocpd_memory_copy@";
CREATE TABLE "rocpd_memory_allocate@" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '#' NOT NULL,
nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER, type TEXT CHECK (type IN ('ALLOC', 'FREE',
'REALLOC', 'RECLAIM')), level TEXT CHECK (level IN ('REAL', 'VIRTUAL', 'SCRATCH')), start BIGINT NOT NULL, "end"
BIGINT NOT NULL, address INTEGER, size INTEGER NOT NULL, queue_id INTEGER, stream_id INTEGER, event_id INTEGER,
extdata JSONB DEFAULT '{}' NOT NULL);
CREATE VIEW rocpd_memory_allocate AS SELECT * FROM "rocpd_memory_allocate@";
