"""Entry for pip: the cffi module, the headers, the contents of the sdist.  Metadata is in pyproject.toml."""

import gzip
import json
import os
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
sys.path.insert(0, HERE)

import build_cache  # noqa: E402
import build_ffi  # noqa: E402


class Wheel(bdist_wheel):
    """With libcdevice.so for one Python version; without it (CDEVICE_EMBED=0) one file for every Python from 3.10 on,
    where the limited API was used."""

    def finalize_options(self):
        if build_ffi.LIMITED_API and build_ffi.can_embed():
            self.py_limited_api = "cp310"
        super().finalize_options()

    def write_wheelfile(self, wheelfile_base, *args, **kwargs):
        """Writes the bill of materials, too: PEP 770, CycloneDX."""
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        folder = os.path.join(wheelfile_base, "sboms")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "cdevice.cdx.json"), "w", encoding="utf-8") as f:
            json.dump(build_ffi.bill_of_materials(self.distribution), f, indent=1)


class BuildExt(build_ext):
    """The extension, and libcdevice.so beside the package's other files."""

    cache = build_cache.Cache(os.environ["CDEVICE_BUILD_CACHE"]) if os.environ.get("CDEVICE_BUILD_CACHE") else None

    def run(self):
        super().run()
        if build_ffi.can_embed():
            print(f"libcdevice.so is left out: {build_ffi.can_embed()}")
        else:
            base = HERE if self.inplace else self.build_lib
            run = self.cache.run if self.cache else subprocess.check_call
            build_ffi.build_embedding(os.path.join(base, "cdevice", "lib"), run=run)
        if self.cache:
            self.cache.finish(os.path.join(HERE, "build", "cache.json"))

    def get_outputs(self):
        library = [] if build_ffi.can_embed() else [os.path.join(self.build_lib, "cdevice", "lib", "libcdevice.so")]
        return super().get_outputs() + library

    def build_extension(self, ext):
        """Compiles as many files at a time as there are processors, those that take longest first."""
        compile_ = self.compiler.compile

        def use_cache(obj, src, ext, cc_args, extra_postargs, pp_opts):  # what compilers of setuptools' override
            try:
                self.cache.run([*self.compiler.compiler_so, *cc_args, src, "-o", obj, *extra_postargs])
            except subprocess.CalledProcessError as e:
                raise CompileError(str(e)) from e

        def compile_all(sources, *args, **kwargs):
            first = sorted(sources, key=lambda name: "kernels" not in name)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = dict(zip(first, pool.map(lambda s: compile_([s], *args, **kwargs), first), strict=True))
            return [o for s in sources for o in objects[s]]

        self.compiler.compile = compile_all
        if self.cache:
            self.compiler._compile = use_cache
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_

    def get_output_mapping(self):
        mapping = super().get_output_mapping()
        if self.inplace and not build_ffi.can_embed():
            mapping[os.path.join(self.build_lib, "cdevice", "lib", "libcdevice.so")] = "cdevice/lib/libcdevice.so"
        return mapping


class FullSdist(sdist):
    """setuptools finds the C files of the extension, but not what is included or read while building."""

    def make_release_tree(self, base_dir, files):
        more = [
            "cdevice/CMakeLists.txt",
            "build_ffi.py",
            "build_cache.py",
            "unicode_tables.py",
            "power_tables.py",
            "README.rst",
            "LICENSE",
            "CHANGELOG.rst",
        ]
        for pattern in (
            "cdevice/core/*/*",
            "cdevice/native/*",
            "cdevice/native/*/*",
            "cdevice/include/cdevice/*",
            "cdevice/kernels/*/*",
            "backends/*/*.[ch]",
            "cdevice/lib/*/*",
            "cdevice/lib/*/*/*",
        ):
            more += build_ffi.relative(pattern)
        present = [f for f in more if os.path.isfile(f)]
        files = [f for f in files if not f.startswith("build/")] + present
        super().make_release_tree(base_dir, sorted(set(files)))

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **kwargs):
        """With SOURCE_DATE_EPOCH the same files give the same bytes: names in order, one time, no user."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or not epoch:
            return super().make_archive(base_name, format, root_dir, base_dir, **kwargs)

        def plain(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(epoch), 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        name = base_name + ".tar.gz"
        os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
        with open(name, "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=int(epoch)) as packed:
            with tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as archive:
                archive.add(base_dir, filter=plain)  # goes through folders in the order of their names
        return name


setup(
    packages=["cdevice.backends", *find_packages(include=["cdevice", "cdevice.*"])],
    package_dir={"cdevice": "cdevice", "cdevice.backends": "backends"},
    package_data={
        "cdevice": [
            "py.typed",
            "*.pyi",
            "compute/*.pyi",
            "include/cdevice/*.h",
            "include/cdevice/*.hpp",
            "DESIGN.rst",
            "kernels/*/*.h",
            "lib/pkgconfig/*",
            "lib/cmake/*/*",
        ]
    },
    include_package_data=False,  # else the sdist's files would be: C sources, in folders taken for packages
    cffi_modules=["build_ffi.py:make_native"],
    cmdclass={"bdist_wheel": Wheel, "build_ext": BuildExt, "sdist": FullSdist},
    zip_safe=False,
)
