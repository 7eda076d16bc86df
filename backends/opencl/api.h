/* api.h - the part of OpenCL's C interface that is used here.  The names are the standard's. */
#ifndef CDEVICE_BACKENDS_OPENCL_API_H
#define CDEVICE_BACKENDS_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CL_CALL __stdcall
#else
#define CL_CALL
#endif

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bits;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_event *cl_event;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct cl_buffer_region {
  size_t origin, size;
} cl_buffer_region;

enum {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_DEVICE_NOT_AVAILABLE = -2,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_BUILD_PROGRAM_FAILURE = -11,
  CL_COMPILER_NOT_AVAILABLE = -3,
  CL_MEM_COPY_OVERLAP = -8,
  CL_MISALIGNED_SUB_BUFFER_OFFSET = -13,
  CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14,
  CL_INVALID_VALUE = -30,
  CL_INVALID_DEVICE = -33,
  CL_INVALID_CONTEXT = -34,
  CL_INVALID_COMMAND_QUEUE = -36,
  CL_INVALID_HOST_PTR = -37,
  CL_INVALID_MEM_OBJECT = -38,
  CL_INVALID_EVENT = -58,
  CL_INVALID_OPERATION = -59,
  CL_INVALID_BUFFER_SIZE = -61,
  CL_MAX_SIZE_RESTRICTION_EXCEEDED = -72,
  CL_PLATFORM_NOT_FOUND_KHR = -1001
};

#define CL_COMPLETE 0
#define CL_QUEUED 3

#define CL_PLATFORM_NAME 0x0902
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define CL_DEVICE_TYPE 0x1000
#define CL_DEVICE_TYPE_CPU 0x2
#define CL_DEVICE_SINGLE_FP_CONFIG 0x101B
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT 0x80
#define CL_DEVICE_DOUBLE_FP_CONFIG 0x1032
#define CL_PROGRAM_DEVICES 0x1163
#define CL_PROGRAM_BINARY_SIZES 0x1165
#define CL_PROGRAM_BINARIES 0x1166
#define CL_PROGRAM_BUILD_LOG 0x1183
#define CL_DEVICE_MEM_BASE_ADDR_ALIGN 0x1019
#define CL_DEVICE_GLOBAL_MEM_SIZE 0x101F
#define CL_DEVICE_MAX_MEM_ALLOC_SIZE 0x1010
#define CL_DEVICE_NAME 0x102B
#define CL_DEVICE_EXTENSIONS 0x1030
#define CL_DRIVER_VERSION 0x102D
#define CL_DEVICE_VERSION 0x102F
#define CL_DEVICE_PARENT_DEVICE 0x1042
#define CL_DEVICE_SVM_CAPABILITIES 0x1053
#define CL_DEVICE_UUID_KHR 0x106A
#define CL_CONTEXT_REFERENCE_COUNT 0x1080
#define CL_CONTEXT_DEVICES 0x1081
#define CL_CONTEXT_PLATFORM 0x1084
#define CL_QUEUE_CONTEXT 0x1090
#define CL_QUEUE_DEVICE 0x1091
#define CL_QUEUE_PROPERTIES 0x1093
#define CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE 0x1
#define CL_QUEUE_PROFILING_ENABLE 0x2
#define CL_PROFILING_COMMAND_END 0x1283
#define CL_MEM_READ_WRITE 0x1
#define CL_MEM_USE_HOST_PTR 0x8
#define CL_MEM_SVM_FINE_GRAIN_BUFFER 0x400
#define CL_MEM_OBJECT_BUFFER 0x10F0
#define CL_MEM_TYPE 0x1100
#define CL_MEM_SIZE 0x1102
#define CL_MEM_CONTEXT 0x1106
#define CL_MEM_ASSOCIATED_MEMOBJECT 0x1107
#define CL_MEM_OFFSET 0x1108
#define CL_EVENT_COMMAND_QUEUE 0x11D0
#define CL_EVENT_COMMAND_TYPE 0x11D1
#define CL_EVENT_COMMAND_EXECUTION_STATUS 0x11D3
#define CL_EVENT_CONTEXT 0x11D4
#define CL_COMMAND_NDRANGE_KERNEL 0x11F0
#define CL_BUFFER_CREATE_TYPE_REGION 0x1220

typedef void(CL_CALL *cl_event_callback)(cl_event, cl_int, void *);
typedef void(CL_CALL *cl_mem_callback)(cl_mem, void *);

/* needed, result, member, symbol, arguments */
#define OPENCL_FUNCTIONS(X)                                                                                           \
  X(1, cl_int, GetPlatformIDs, "clGetPlatformIDs", (cl_uint, cl_platform_id *, cl_uint *))                            \
  X(1, cl_int, GetPlatformInfo, "clGetPlatformInfo", (cl_platform_id, cl_uint, size_t, void *, size_t *))             \
  X(1, cl_int, GetDeviceIDs, "clGetDeviceIDs", (cl_platform_id, cl_bits, cl_uint, cl_device_id *, cl_uint *))         \
  X(1, cl_int, GetDeviceInfo, "clGetDeviceInfo", (cl_device_id, cl_uint, size_t, void *, size_t *))                   \
  X(1, cl_context, CreateContext, "clCreateContext",                                                                  \
    (const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *))                                      \
  X(1, cl_int, ReleaseContext, "clReleaseContext", (cl_context))                                                      \
  X(1, cl_int, GetContextInfo, "clGetContextInfo", (cl_context, cl_uint, size_t, void *, size_t *))                   \
  X(0, cl_command_queue, CreateCommandQueue, "clCreateCommandQueue", (cl_context, cl_device_id, cl_bits, cl_int *))   \
  X(0, cl_command_queue, CreateCommandQueueWithProperties, "clCreateCommandQueueWithProperties",                      \
    (cl_context, cl_device_id, const cl_ulong *, cl_int *))                                                           \
  X(1, cl_int, ReleaseCommandQueue, "clReleaseCommandQueue", (cl_command_queue))                                      \
  X(1, cl_int, GetCommandQueueInfo, "clGetCommandQueueInfo", (cl_command_queue, cl_uint, size_t, void *, size_t *))   \
  X(1, cl_mem, CreateBuffer, "clCreateBuffer", (cl_context, cl_bits, size_t, void *, cl_int *))                       \
  X(1, cl_mem, CreateSubBuffer, "clCreateSubBuffer", (cl_mem, cl_bits, cl_uint, const void *, cl_int *))              \
  X(1, cl_int, RetainMemObject, "clRetainMemObject", (cl_mem))                                                        \
  X(1, cl_int, ReleaseMemObject, "clReleaseMemObject", (cl_mem))                                                      \
  X(1, cl_int, SetMemObjectDestructorCallback, "clSetMemObjectDestructorCallback", (cl_mem, cl_mem_callback, void *)) \
  X(1, cl_int, GetMemObjectInfo, "clGetMemObjectInfo", (cl_mem, cl_uint, size_t, void *, size_t *))                   \
  X(1, cl_int, EnqueueReadBuffer, "clEnqueueReadBuffer",                                                              \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))               \
  X(1, cl_int, EnqueueWriteBuffer, "clEnqueueWriteBuffer",                                                            \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))         \
  X(1, cl_int, EnqueueCopyBuffer, "clEnqueueCopyBuffer",                                                              \
    (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                \
  X(1, cl_int, EnqueueFillBuffer, "clEnqueueFillBuffer",                                                              \
    (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))          \
  X(1, cl_int, EnqueueMarkerWithWaitList, "clEnqueueMarkerWithWaitList",                                              \
    (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                                        \
  X(1, cl_int, EnqueueBarrierWithWaitList, "clEnqueueBarrierWithWaitList",                                            \
    (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                                        \
  X(1, cl_int, Flush, "clFlush", (cl_command_queue))                                                                  \
  X(1, cl_int, Finish, "clFinish", (cl_command_queue))                                                                \
  X(1, cl_int, WaitForEvents, "clWaitForEvents", (cl_uint, const cl_event *))                                         \
  X(1, cl_int, GetEventInfo, "clGetEventInfo", (cl_event, cl_uint, size_t, void *, size_t *))                         \
  X(0, cl_int, GetEventProfilingInfo, "clGetEventProfilingInfo", (cl_event, cl_uint, size_t, void *, size_t *))       \
  X(1, cl_event, CreateUserEvent, "clCreateUserEvent", (cl_context, cl_int *))                                        \
  X(1, cl_int, SetUserEventStatus, "clSetUserEventStatus", (cl_event, cl_int))                                        \
  X(1, cl_int, RetainEvent, "clRetainEvent", (cl_event))                                                              \
  X(1, cl_int, ReleaseEvent, "clReleaseEvent", (cl_event))                                                            \
  X(1, cl_int, SetEventCallback, "clSetEventCallback", (cl_event, cl_int, cl_event_callback, void *))                 \
  X(0, void *, SVMAlloc, "clSVMAlloc", (cl_context, cl_bits, size_t, cl_uint))                                        \
  X(0, cl_int, EnqueueSVMMemcpy, "clEnqueueSVMMemcpy",                                                                \
    (cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *, cl_event *))                 \
  X(0, cl_int, EnqueueSVMFree, "clEnqueueSVMFree",                                                                    \
    (cl_command_queue, cl_uint, void **, void *, void *, cl_uint, const cl_event *, cl_event *))                      \
  X(0, cl_program, CreateProgramWithSource, "clCreateProgramWithSource",                                              \
    (cl_context, cl_uint, const char **, const size_t *, cl_int *))                                                   \
  X(0, cl_program, CreateProgramWithBinary, "clCreateProgramWithBinary",                                              \
    (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *))          \
  X(0, cl_int, BuildProgram, "clBuildProgram",                                                                        \
    (cl_program, cl_uint, const cl_device_id *, const char *, void *, void *))                                        \
  X(0, cl_int, GetProgramInfo, "clGetProgramInfo", (cl_program, cl_uint, size_t, void *, size_t *))                   \
  X(0, cl_int, GetProgramBuildInfo, "clGetProgramBuildInfo",                                                          \
    (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                                                    \
  X(0, cl_int, ReleaseProgram, "clReleaseProgram", (cl_program))                                                      \
  X(0, cl_kernel, CreateKernel, "clCreateKernel", (cl_program, const char *, cl_int *))                               \
  X(0, cl_int, SetKernelArg, "clSetKernelArg", (cl_kernel, cl_uint, size_t, const void *))                            \
  X(0, cl_int, ReleaseKernel, "clReleaseKernel", (cl_kernel))                                                         \
  X(0, cl_int, EnqueueNDRangeKernel, "clEnqueueNDRangeKernel",                                                        \
    (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *, \
     cl_event *))

#endif
