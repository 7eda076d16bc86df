"""Which tests are unit tests, and what these may not do: ``ci/test --unit``.

A unit test needs no device (no OpenCL platform, no stand-in runtime), no compiler and no child process.  A test is one
unless it is named here, uses the stand-in runtimes, or has a parameter that names a device but the CPU.  With ``--unit``
nothing else runs, and a test that starts a process or loads a backend but the CPU's fails.  Without it, too, a unit test
that starts a process by Python fails: so one that is not named here is found by every run, but those under coverage.
"""

import contextlib
import importlib
import os
import pathlib
import re
import resource
import sys
import tempfile

import pytest

# files without unit tests, by name
FILES = set(
    """
    test_abi.py test_async_peers.py test_backend_kernels.py test_bench_files.py test_bench_loader.py test_build_cache.py test_capture.py test_cli.py
    test_c_page.py test_core_alone.py test_compute_async.py test_wrong_kernels.py
    test_compute_own.py test_compute_own_folds.py test_conformance.py test_conformance_tools.py test_conformance_wrong.py
    test_cuda.py test_cupy_rocm.py test_dask.py test_dask_batches.py test_call.py test_cpp.py test_embed.py test_fake_kernels.py test_faults.py
    test_fuzz.py test_hostrt.py test_hostrt_capture.py test_hostrt_compute.py test_hostrt_process.py
    test_hostrt_retained_memory.py test_hostrt_shared.py test_numba_cuda.py test_opencl.py test_opencl_exit.py test_opencl_objects.py
    test_opencl_pool.py test_opencl_trials.py test_opencl_two_devices.py test_packaging.py test_plugins.py test_producers.py
    test_profile.py test_rmm.py test_rust.py test_scarce.py test_shared.py test_shared_streams.py test_sharing.py test_typing.py test_wheel.py test_without_sockets.py
    """.split()
)
# checks of KernelSuite that are none: they compile
CHECKS = {"test_expressions_as_one_kernel", "test_functions_of_a_users_own"}
# other tests that are none, by file
TESTS = {
    "test_allocator.py": """
        test_pyopencls_pool_serves_opencl
        test_what_is_no_allocator_is_refused
    """,
    "test_async.py": """
        test_a_process_may_end_while_producers_and_consumers_are_busy
        test_a_storm_of_ctrl_c_ends_no_process
        test_after_a_thread_that_could_not_be_started_owners_are_dropped_again
        test_aio_is_there_after_import_cdevice
        test_importing_aio_is_not_part_of_importing_the_package
    """,
    "test_refused_platforms.py": """
        test_the_compiler_refuses_the_core
    """,
    "test_bad_input.py": """
        test_a_library_that_is_missing_is_named_with_what_to_install
    """,
    "test_large.py": """
        test_rows_are_found_without_memory_for_the_number_of_each_row
    """,
    "test_compute_dispatch.py": """
        test_a_kernel_for_opencl_gets_the_queue_that_its_work_belongs_to
        test_memory_stays_where_it_is_whatever_types_come
    """,
    "test_compute_errors.py": """
        test_arguments_on_two_devices_name_both
        test_a_program_is_kept_in_a_folder_of_ones_own_and_built_again_where_it_is_broken
    """,
    "test_compute_fallback.py": """
        test_arguments_on_two_devices_go_to_the_first
        test_what_is_left_to_pyarrow_is_computed_by_it_on_request
        test_what_the_device_has_a_kernel_for_is_not_copied
    """,
    "test_compute_providers.py": """
        test_an_entry_point_is_loaded_when_a_function_is_unknown
        test_an_entry_point_is_loaded_when_no_kernel_fits
        test_nothing_of_pyarrow_is_imported_before_it_is_needed
        test_off_the_cpu_it_is_told_where_there_is_a_kernel
        test_one_that_fails_is_a_warning_that_names_it_and_others_are_there
        test_threads_that_need_it_at_once_all_get_it
        test_tuned_kernels_are_loaded_when_something_is_computed_on_their_device
        test_without_pyarrow_there_is_the_rest
    """,
    "test_compute_threads.py": """
        test_a_forked_child_has_threads_of_its_own
        test_how_many_there_are_can_be_said
    """,
    "test_cpu_pool.py": """
        test_repeated_results_fault_no_pages
        test_small_blocks_beyond_256_mib_the_system_may_take_too
        test_the_limit_is_the_environments
        test_the_oldest_go_first_when_there_are_too_many
        test_threads_and_forks_share_it
        test_what_is_kept_beyond_256_mib_the_system_may_take
    """,
    "test_compute_expressions.py": """
        test_without_a_compiler_the_functions_are_called_one_by_one
    """,
    "expression_checks.py": """
        test_one_kernel_gives_the_bits_of_the_functions_one_by_one
    """,
    "table_checks.py": """
        test_every_device_gives_the_same_bits
    """,
    "test_empty.py": """
        test_an_opencl_kernel_fills_values_and_bitmap_in_the_queues_context
        test_another_context_is_refused_with_the_way_out
    """,
    "test_bench_groups.py": """
        test_every_library_gives_pyarrows_answers
        test_the_section_prints_each_row_when_it_is_known_and_wrong_answers
    """,
    "test_dlpack_exchange.py": """
        test_tvm_takes_and_gives_arrays_by_the_table
    """,
    "test_failing_copies.py": """
        test_what_cannot_be_waited_for_is_left_and_the_log_says_so
    """,
    "test_from_buffers.py": """
        test_hostile_parts_never_take_the_process_down
        test_opencl_events_are_objects_in_and_out
        test_pyopencls_objects_say_which_device_they_are_on
    """,
    "test_architecture.py": """
        test_every_header_is_whole
    """,
    "test_kernels.py": """
        test_a_barrier_in_a_function_that_kernels_call_is_found
        test_a_barrier_that_all_work_items_reach_is_no_error
        test_a_barrier_that_some_work_items_miss_is_found
        test_a_fused_instruction_would_be_found
        test_every_work_item_of_a_group_comes_to_each_barrier
        test_the_extension_has_no_fused_instruction
    """,
    "test_lifetime.py": """
        test_a_fork_while_another_thread_imports_leaves_no_module_locked
        test_after_fork_the_child_drops_its_own_owners
        test_an_export_released_by_an_exit_handler_of_c_is_quiet
        test_memory_stays_flat_over_many_exports_and_imports
        test_release_during_and_after_the_end_of_the_interpreter_is_quiet
        test_what_waited_for_python_at_a_fork_is_the_parents_to_drop
    """,
    "test_memory_events.py": """
        test_freeze_is_behind_kernels_on_the_queue_that_was_the_device
        test_from_buffers_takes_the_events_of_a_pyopencl_array
    """,
    "test_mutants.py": """
        test_a_copy_that_ignores_an_offset_is_told_in_seconds
        test_what_never_comes_is_not_waited_for_in_every_check
    """,
    "test_pages.py": """
        test_a_page_prints_what_it_says
    """,
    "test_pending_exceptions.py": """
        test_an_exception_in_a_finalizer_is_told_and_the_pending_one_goes_on
    """,
    "test_protocol.py": """
        test_any_module_may_be_imported_first
    """,
    "test_readme.py": """
        test_a_block_of_the_readme_runs
    """,
    "test_registry.py": """
        test_a_backend_that_is_unavailable_says_so_and_is_asked_again
        test_a_fork_while_a_backend_starts_leaves_a_child_that_gets_an_error
        test_a_sub_interpreter_gets_an_import_error_and_the_main_one_goes_on
        test_an_import_that_was_interrupted_can_be_done_again
        test_any_positive_type_is_looked_up_by_value
        test_at_exit_no_method_of_a_python_backend_runs_into_a_module_that_is_gone
        test_importing_loads_no_numpy_no_driver_and_no_metadata
        test_started_before_a_fork_it_is_an_error_in_the_child
    """,
    "test_stream.py": """
        test_a_ready_stream_is_drained_by_a_thread_while_another_holds_the_gil
        test_ten_thousand_batches_leave_the_memory_as_it_was
    """,
    "test_stream_ends.py": """
        test_a_consumer_that_nobody_had_may_be_used_on_the_other_side_of_a_fork
        test_a_forked_child_gets_an_error_where_it_would_wait_for_a_thread_of_its_parent
        test_ctrl_c_reaches_every_wait_and_loses_no_array
    """,
    "test_the_page.py": """
        test_its_kernels_compute
    """,
    "test_unit_only.py": """
        test_a_unit_test_that_starts_a_process_by_python_fails_in_every_run
        test_only_unit_tests_run_and_elsewhere_all_do
        test_what_a_unit_test_may_not_do_fails_it_and_is_named
    """,
    "test_asarray_fastpath.py": """
        test_the_first_array_of_a_process_and_of_its_child_has_somebody_to_drop_its_owner
    """,
}
FIXTURES = {"runtimes", "counted"}  # "counted": its device compiles kernels
DEVICES = {"opencl", "cuda", "cuda_host", "cuda_managed", "rocm", "rocm_host"}

# functions that start a process, by the event that Python audits
CHILDREN = {
    "subprocess.Popen",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.exec",
    "pty.spawn",
}
DRIVERS = ("libOpenCL", "libcuda", "libamdhip", "libnvrtc", "libhiprtc", "libvulkan")
BINDINGS = {"pyopencl", "cupy", "hip", "cuda", "numba", "dpctl", "vulkan"}


def is_unit(item):
    """Does a collected test need nothing but this process, the CPU and little time?"""
    if item.get_closest_marker("slow"):
        return False
    name = getattr(item, "originalname", None) or item.name
    if (
        item.path.name in FILES
        or name in CHECKS
        or FIXTURES & set(item.fixturenames)
        or name.startswith("test_hostrt_")
    ):
        return False
    of = pathlib.Path(item.function.__code__.co_filename).name  # or a module of checks, whose tests several files have
    if any(name in TESTS.get(file, "").split() for file in (item.path.name, of)):
        return False
    parameters = re.split(r"[-\[\]]", item.name)
    return not (DEVICES | {"kernel"}) & set(parameters)  # a kernel of an expression is compiled


class Processes:
    """Ends a unit test, by failing it, where it starts a process by Python: in every run."""

    def __init__(self):
        self.on = False
        self.found = []
        sys.addaudithook(self.audit)  # cannot be taken out again

    def refuse(self, what):
        if self.on:
            what += ": a unit test needs no device, no compiler and no child process (tests/support/unit_only.py)"
            self.found.append(what)
            pytest.fail(what)

    def audit(self, event, args):
        if not self.on or event not in CHILDREN:
            return
        if args[:1] != ("fc-list",):  # matplotlib's list of fonts, made once for a user
            self.refuse(f"starts a child process, {args[0] if args else event}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.on, self.found = item.get_closest_marker("unit") is not None, []
        try:
            return (yield)
        finally:
            self.on = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        try:
            yield
        except pytest.fail.Exception as e:
            if e.msg in self.found:
                self.found = []  # once is enough
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        yield
        if self.found:  # and the test caught it
            pytest.fail(self.found[0])


class Watch(Processes):
    """``--unit``: where it starts a process in any way, or loads a device's library or a backend but the CPU's, too."""

    def __init__(self):
        # programs that earlier runs compiled would hide that one is needed
        self.cache = tempfile.TemporaryDirectory()
        os.environ["CDEVICE_CACHE_DIR"] = os.environ["POCL_CACHE_DIR"] = self.cache.name
        with contextlib.suppress(ImportError):
            importlib.import_module("matplotlib.font_manager")  # its list of fonts, by a child process
        super().__init__()
        spawn = importlib.import_module("_posixsubprocess")
        fork_exec = spawn.fork_exec

        def watched(*args):  # multiprocessing calls it without an event
            self.refuse("starts a child process")
            return fork_exec(*args)

        spawn.fork_exec = watched
        self.watch_backends()

    def watch_backends(self):
        from cdevice._devices.tables import BUILTIN, builtin_class

        classes = {}  # one serves several types
        for number, (name, _) in BUILTIN.items():
            classes.setdefault(builtin_class(number), name)
        for cls, name in classes.items():
            if name == "cpu":
                continue
            table = cls.__cdevice_backend__

            def watched(backend, name=name, table=table):
                self.refuse(f"loads the backend {name}")
                return table(backend)

            cls.__cdevice_backend__ = watched

    def pytest_ignore_collect(self, collection_path):
        return True if collection_path.name in FILES else None

    def audit(self, event, args):
        super().audit(event, args)
        if not self.on:
            return
        if event == "ctypes.dlopen" and any(name in str(args[0]) for name in DRIVERS):
            self.refuse(f"loads {args[0]}")
        elif event == "import" and args[0].partition(".")[0] in BINDINGS:
            self.refuse(f"imports {args[0]}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        yield from super().pytest_runtest_call(item)
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt != before:
            self.refuse("a library started a child process")
