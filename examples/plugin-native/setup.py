"""Builds the shared library; it is no Python module, so it links nothing of Python."""

import os

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

import cdevice


class SharedLibrary(build_ext):
    def get_ext_filename(self, name):
        return os.path.join(*name.split(".")) + ".so"

    def get_export_symbols(self, ext):
        return []


setup(
    ext_modules=[
        Extension(
            "cdevice_pool.libcdevice_pool",
            ["src/pool.c", "src/kernels.c"],
            include_dirs=[cdevice.get_include()],
            extra_compile_args=["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-pthread"],
            libraries=["dl"],
            extra_link_args=["-pthread"],
        )
    ],
    cmdclass={"build_ext": SharedLibrary},
)
