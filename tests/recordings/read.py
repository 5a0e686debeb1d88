# SPDX-License-Identifier: MIT
"""Facts of other tools' recordings, by readers of our own that share no code with duet.

    python3 tests/recordings/read.py FILE...      facts of these files, one JSON object per line
    python3 tests/recordings/read.py --write      facts.jsonl for all recordings of the folder DUET_RECORDINGS
    python3 tests/recordings/read.py --check      compares facts.jsonl with what the readers compute now
"""
import fnmatch
import gc
import glob
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

import facts
import kineto
import nsys
import pftrace
import ranks
import rocpd
import rocprof

HERE = os.path.dirname(os.path.abspath(__file__))
FACTS = os.path.join(HERE, "facts.jsonl")

# Recordings of one job: the readers get all files that match, in order of their names.
JOBS = {
    "kineto/megatron_tp8": ["kineto/megatron_tp8_rank*.json.zst"],
    "kineto/dlrm": ["kineto/dlrm_kineto.tar.gz"],
    "kineto/hpctraining_4rank": ["kineto/hpctraining_4rank.json.gz"],
    "amd/decode": ["amd/*_decode_kernel_trace.csv.zst", "amd/*_decode_hip_api_trace.csv.zst"],
    "amd/prefill": ["amd/*_prefill_kernel_trace.csv.zst", "amd/*_prefill_hip_api_trace.csv.zst"],
}

# What holds no commands, or is no recording.
LEFT_OUT = ("README.md", ".cubin", "rocprof-compute-viewer_pcsampling_code.json", "rocprof_compute_23ed6f36.db.zst")


def unpack(path):
    """Yields name and content of each file in a recording."""
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                if member.isfile():
                    yield os.path.basename(member.name), archive.extractfile(member).read()
    elif path.endswith(".gz"):
        yield os.path.basename(path)[:-3], gzip.decompress(data)
    elif path.endswith(".zst"):
        yield os.path.basename(path)[:-4], subprocess.run(["zstd", "-dcq"], input=data, check=True,
                                                          stdout=subprocess.PIPE).stdout
    else:
        yield os.path.basename(path), data


def read_database(reader, data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return reader(file.name)


def read(name, data):
    """A recording of the content of one file, by its name."""
    if name.endswith(".sqlite"):
        return read_database(nsys.read, data)
    if name.endswith((".db", ".rpd")):
        return read_database(rocpd.read, data)
    if name.endswith(".pftrace"):
        return pftrace.read(data)
    if name.endswith(".csv"):
        return rocprof.read_csv(data.decode())
    if data.find(b'"rocprofiler-sdk-tool"', 0, 1000) >= 0:
        return rocprof.read_json(data)
    return kineto.read(data)


def recordings_of(folder):
    """Paths below the folder of all files that hold a recording."""
    found = sorted(path for path in glob.glob(os.path.join(folder, "*", "*")) if not path.endswith(LEFT_OUT))
    return [os.path.relpath(path, folder) for path in found]


def contents_of(folder):
    """Yields path, name and content of every file of every recording."""
    for path in recordings_of(folder):
        for name, data in unpack(os.path.join(folder, path)):
            yield path, name, data


def line_of_file(path, name, data, recording):
    return {"file": path, "name": name, "sha256": hashlib.sha256(data).hexdigest(), **facts.facts_of(recording)}


def job_of(path):
    """The name of the job to which a recording belongs, or None."""
    return next((job for job, patterns in JOBS.items() if any(fnmatch.fnmatch(path, one) for one in patterns)), None)


class Jobs:
    """Of the recordings of several files, what their jobs need: the tables, or the collectives alone."""

    def __init__(self):
        self.parts = {}

    def add(self, path, name, data, recording):
        job = job_of(path)
        if job:
            recording.commands.clear()
            recording.calls.clear()
            recording.steps.clear()
            self.parts.setdefault(job, []).append((name, data.decode() if name.endswith(".csv") else recording))

    def lines(self):
        for job, parts in sorted(self.parts.items()):
            line = {"job": job, "names": [name for name, _ in parts]}
            if job.startswith("amd/"):
                line.update(facts.facts_of(rocprof.read_csv(*(part for _, part in parts))))
            else:
                line["arrivals"] = ranks.arrivals([part for _, part in parts])
            yield line


def lines_of_folder(folder):
    gc.disable()  # rows are many and small, and none of them form cycles
    jobs = Jobs()
    for path, name, data in contents_of(folder):
        recording = read(name, data)
        yield json.dumps(line_of_file(path, name, data, recording))
        jobs.add(path, name, data, recording)
    yield from map(json.dumps, jobs.lines())


def committed_lines():
    with open(FACTS, encoding="ascii") as file:
        return file.read().splitlines()


def main(arguments):
    if arguments == ["--write"] or arguments == ["--check"]:
        folder = os.environ.get("DUET_RECORDINGS")
        if not folder:
            sys.exit("DUET_RECORDINGS: not set; it names the folder of the recordings")
        lines = list(lines_of_folder(folder))
        if arguments == ["--check"]:
            return lines != committed_lines()
        with open(FACTS, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))
        return 0
    for path in arguments:
        for name, data in unpack(path):
            print(json.dumps({"name": name, **facts.facts_of(read(name, data))}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
