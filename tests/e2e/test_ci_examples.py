#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/ci: the shell steps of the pipelines work. They are taken from the files and run in their order, in a copy of
what the services prepare: checkouts of a small repository, variables, and a folder that survives as the cache does.
"""
import os
import re
import subprocess

import duet_test
from duet_test import BUILD, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

EXAMPLES = os.path.join(ROOT, "examples", "ci")
# The counts decide; times of a busy machine do not. The simulated driver starts fast.
FEW = {"RUNS": "5", "LIMIT": "wall +900 %", "OCL_ICD_VENDORS": t.simulated_opencl()}


def read(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


def variables(content, group):
    """The variables of the file's group."""
    block = re.search(rf"^{group}:\n((?:  .*\n)+)", content, re.M).group(1)
    return {name: value.strip().strip('"') for name, value in re.findall(r"^  (\w+): (.*)$", block, re.M)}


def job(content, name):
    """The lines of a job: of two blanks in GitHub's files, of none in GitLab's."""
    return re.search(rf"^( *){name}:\n((?:\1 .*\n|\n| *#.*\n)+)", content, re.M).group(2)


def blocks(content, begin):
    """The texts of the block scalars that begin with this, without their indentation."""
    found = []
    for match in re.finditer(rf"^( *){begin} \|\n((?:\1  .*\n|\n)+)", content, re.M):
        lines = match.group(2).splitlines()
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        found.append("\n".join(line[indent:] for line in lines))
    return found


def repository(folder, launches=1):
    """A checkout whose program launches so many kernels in each iteration."""
    if run([duet_test.program("gate_work"), "1", "10"], env=FEW).status:
        raise duet_test.Skip("no OpenCL device works here")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write(f"app:\n\tprintf '#!/bin/sh\\nexec {duet_test.program('gate_work')} 5 100 {launches}\\n' > app\n\tchmod +x app\n")


def execute(steps, folder, environment):
    """Runs the steps as the services do, each in a shell that stops at an error; the status of the first that fails."""
    for step in steps:
        result = run(["bash", "-e", "-o", "pipefail", "-c", step], cwd=folder,
                     env={"PATH": os.pathsep.join([BUILD, os.environ["PATH"]]), **environment})
        if result.status:
            return result.status, result
    return 0, result


with t.case("GitHub: a pull request without a change passes, and one with more launches is stopped"):
    t.wanted()
    content = read("github.yml")
    steps = blocks(job(content, "compare"), "run:")
    t.equal(len(steps), 2, "steps")
    for launches, wanted in ((1, 0), (2, 1)):
        folder = t.path(f"github{launches}")
        repository(os.path.join(folder, "base"))
        repository(os.path.join(folder, "new"), launches)
        environment = {**variables(content, "env"), **FEW, "GITHUB_STEP_SUMMARY": os.path.join(folder, "summary.md")}
        status, result = execute(steps, folder, environment)
        t.equal(status, wanted, f"{launches} launches: {text(result.stdout)}{text(result.stderr)}")
        t.equal("::error" in text(result.stdout), launches == 2, "annotation")
        with open(os.path.join(folder, "summary.md"), encoding="utf-8") as file:
            t.true(file.read().startswith("### duet gate"), "summary")
        t.true(os.path.exists(os.path.join(folder, "gate.xml")), "JUnit report")

with t.case("GitHub: the main branch accepts, and stops more launches"):
    t.wanted()
    content = read("github.yml")
    steps, folder = blocks(job(content, "accept"), "run:"), t.path("github_main")
    t.equal(len(steps), 2, "steps")
    environment = {**variables(content, "env"), **FEW}
    for launches, wanted in ((1, 0), (1, 0), (2, 1)):
        repository(os.path.join(folder, "new"), launches)
        subprocess.run(["rm", "-f", os.path.join(folder, "new", "app")], check=True)
        status, result = execute(steps, folder, environment)
        t.equal(status, wanted, f"{launches} launches: {text(result.stdout)}{text(result.stderr)}")

with t.case("GitLab: a merge request without a change passes, and one with more launches is stopped"):
    t.wanted()
    content = read("gitlab.yml")
    steps = blocks(job(content, "compare"), "-")
    t.equal(len(steps), 3, "steps")
    for launches, wanted in ((1, 0), (2, 1)):
        folder = t.path(f"gitlab{launches}")
        repository(os.path.join(folder, "origin"))
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
            subprocess.run([*git, *words], cwd=os.path.join(folder, "origin"), check=True)
        subprocess.run([*git, "clone", "-q", "origin", "new"], cwd=folder, check=True)
        repository(os.path.join(folder, "new"), launches)
        environment = {**variables(content, "variables"), **FEW, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
        status, result = execute(steps, os.path.join(folder, "new"), environment)
        t.equal(status, wanted, f"{launches} launches: {text(result.stdout)}{text(result.stderr)}")
        for name in ("gate.md", "gate.xml", "gate.json"):
            t.true(os.path.exists(os.path.join(folder, "new", name)), name)

with t.case("GitLab: the default branch accepts, and stops more launches"):
    t.wanted()
    content = read("gitlab.yml")
    steps, folder = blocks(job(content, "accept"), "-"), t.path("gitlab_main")
    t.equal(len(steps), 2, "steps")
    environment = {**variables(content, "variables"), **FEW}
    for launches, wanted in ((1, 0), (1, 0), (2, 1)):
        repository(folder, launches)
        subprocess.run(["rm", "-f", os.path.join(folder, "app")], check=True)
        status, result = execute(steps, folder, environment)
        t.equal(status, wanted, f"{launches} launches: {text(result.stdout)}{text(result.stderr)}")

with t.case("the files are YAML, and the steps above are all of theirs"):
    try:
        import yaml
    except ImportError as missing:
        raise duet_test.Skip(f"{missing} (python3-yaml)") from missing
    jobs = yaml.safe_load(read("github.yml"))["jobs"]
    for name in ("compare", "accept"):
        t.equal([step["run"].rstrip("\n") for step in jobs[name]["steps"] if "run" in step],
                [step.rstrip("\n") for step in blocks(job(read("github.yml"), name), "run:")], f"steps of {name} of GitHub")
    pipeline = yaml.safe_load(read("gitlab.yml"))
    for name in ("compare", "accept"):
        t.equal([step.rstrip("\n") for step in pipeline[name]["script"]],
                [step.rstrip("\n") for step in blocks(job(read("gitlab.yml"), name), "-")], f"steps of {name} of GitLab")

t.end()
