# SPDX-License-Identifier: MIT
"""The device of the Python programs: PyOpenCL where the interpreter has it, and OpenCL through ctypes otherwise.

launch() leaves a copy and two kernels in flight. finish() reads the result, waits for it, and returns the end of that
command as the device reports it, in nanoseconds.
"""
import ctypes

try:
    import numpy
    import pyopencl
except ImportError:
    pyopencl = None

COUNT, LOOPS, GROUP = 1 << 14, 250, 256
SOURCE = """
kernel void forward(global float *x, int n) {
  float v = x[get_global_id(0)];
  for (int i = 0; i < n; i++) v = v * 0.999f + 0.5f;
  x[get_global_id(0)] = v;
}
kernel void backward(global const float *x, global float *y, int n) {
  float v = x[get_global_id(0)];
  for (int i = 0; i < n; i++) v = v * 0.998f + 0.25f;
  y[get_global_id(0)] = v;
}
"""
DEVICE_TYPE_ALL, PROFILING_ENABLE, READ_WRITE, PROFILING_END = 0xFFFFFFFF, 2, 1, 0x1283


class CtypesDevice:
    """Calls that return at once keep the interpreter's lock, as in PyOpenCL. The one that waits gives it up."""

    def __init__(self):
        self.calls = ctypes.PyDLL("libOpenCL.so.1")
        self.waits = ctypes.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel",
                     "clCreateBuffer"):
            getattr(self.calls, name).restype = ctypes.c_void_p
        platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        self.check(self.calls.clGetPlatformIDs(1, ctypes.byref(platform), None))
        self.check(self.calls.clGetDeviceIDs(platform, ctypes.c_uint64(DEVICE_TYPE_ALL), 1, ctypes.byref(device), None))
        self.context = ctypes.c_void_p(self.calls.clCreateContext(None, 1, ctypes.byref(device), None, None,
                                                                  ctypes.byref(error)))
        self.check(error.value)
        self.queue = ctypes.c_void_p(self.calls.clCreateCommandQueue(self.context, device,
                                                                     ctypes.c_uint64(PROFILING_ENABLE), None))
        source = ctypes.c_char_p(SOURCE.encode())
        self.program = ctypes.c_void_p(self.calls.clCreateProgramWithSource(self.context, 1, ctypes.byref(source), None,
                                                                            None))
        self.check(self.calls.clBuildProgram(self.program, 0, None, b"", None, None))
        self.host = (ctypes.c_float * COUNT)()
        self.size, self.group = ctypes.c_size_t(COUNT), ctypes.c_size_t(GROUP)
        self.bytes = ctypes.c_size_t(4 * COUNT)
        self.buffers = [ctypes.c_void_p(self.calls.clCreateBuffer(self.context, ctypes.c_uint64(READ_WRITE), self.bytes,
                                                                  None, None)) for _ in range(2)]
        self.kernels = [self.make_kernel(b"forward", self.buffers[:1]), self.make_kernel(b"backward", self.buffers)]

    @staticmethod
    def check(status):
        if status:
            raise SystemExit(f"OpenCL error {status}")

    def make_kernel(self, name, buffers):
        kernel = ctypes.c_void_p(self.calls.clCreateKernel(self.program, name, None))
        for i, argument in enumerate([*buffers, ctypes.c_int(LOOPS)]):
            self.check(self.calls.clSetKernelArg(kernel, i, ctypes.c_size_t(ctypes.sizeof(argument)),
                                                 ctypes.byref(argument)))
        return kernel

    def launch(self):
        self.check(self.calls.clEnqueueWriteBuffer(self.queue, self.buffers[0], 0, ctypes.c_size_t(0), self.bytes,
                                                   self.host, 0, None, None))
        for kernel in self.kernels:
            self.check(self.calls.clEnqueueNDRangeKernel(self.queue, kernel, 1, None, ctypes.byref(self.size),
                                                         ctypes.byref(self.group), 0, None, None))
        self.check(self.calls.clFlush(self.queue))

    def finish(self):
        event, end = ctypes.c_void_p(), ctypes.c_uint64()
        self.check(self.waits.clEnqueueReadBuffer(self.queue, self.buffers[1], 1, ctypes.c_size_t(0), self.bytes,
                                                  self.host, 0, None, ctypes.byref(event)))
        self.check(self.calls.clGetEventProfilingInfo(event, PROFILING_END, ctypes.c_size_t(8), ctypes.byref(end), None))
        self.calls.clReleaseEvent(event)
        return end.value


class PyopenclDevice:
    def __init__(self):
        self.context = pyopencl.create_some_context(interactive=False)
        self.queue = pyopencl.CommandQueue(self.context, properties=pyopencl.command_queue_properties.PROFILING_ENABLE)
        self.program = pyopencl.Program(self.context, SOURCE).build()
        self.kernels = self.program.forward, self.program.backward
        self.host = numpy.zeros(COUNT, numpy.float32)
        self.buffers = [pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, 4 * COUNT) for _ in range(2)]

    def launch(self):
        forward, backward = self.kernels
        pyopencl.enqueue_copy(self.queue, self.buffers[0], self.host, is_blocking=False)
        forward(self.queue, (COUNT,), (GROUP,), self.buffers[0], numpy.int32(LOOPS))
        backward(self.queue, (COUNT,), (GROUP,), self.buffers[0], self.buffers[1], numpy.int32(LOOPS))
        self.queue.flush()

    def finish(self):
        return pyopencl.enqueue_copy(self.queue, self.host, self.buffers[1]).profile.end


def open_device():
    return PyopenclDevice() if pyopencl else CtypesDevice()
