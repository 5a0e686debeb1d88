# SPDX-License-Identifier: MIT
"""The third path of python_paths.py, in a file of its own: Python calls C, which calls Python."""


class Other:
    def __init__(self, launcher):
        self.launcher = launcher

    def key(self, number):
        if number == 0:
            self.launcher.launch(self.size)
        return number

    def launch_sorted(self, size):
        self.size = size
        return sorted([2, 1, 0], key=self.key)
