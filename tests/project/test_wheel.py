"""The wheel that the scripts in ci/ share (ci/wheel.py): with other Python files it is what a build would make."""

import base64
import csv
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from paths import ROOT

PYTHON = ROOT / "build" / "venv-build" / "bin" / "python"
pytestmark = [
    pytest.mark.nosan,
    pytest.mark.notrace,
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="no build/venv-build: ci/test makes it"),
]
SOURCES = {
    "setup.py": """
import json, os
from setuptools import setup
os.makedirs("build", exist_ok=True)
json.dump({"outside": {os.environ["OUTSIDE"]: [1, 1000]}}, open("build/cache.json", "w"))
open(os.environ["BUILDS"], "a").write("built ")
packages = {"cdevice": "cdevice", "cdevice.backends": "backends"}
setup(name="cdevice", version="1", packages=[*packages], package_dir=packages, package_data={"cdevice": ["*.h", "*.pyi"]})
""",
    "build_ffi.py": "",
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
    "README.rst": "",
    "LICENSE": "",
    "cdevice/__init__.py": "",
    "cdevice/array.py": "value = 1\n",
    "cdevice/__init__.pyi": "",
    "cdevice/core.h": "int f(void);\n",
    "backends/cpu.py": "",
}


class Project:
    """A small package of the same shape, with ci/wheel.py."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.builds = folder, folder / "builds"
        for name, text in SOURCES.items():
            self.write(name, text)
        shutil.copy(ROOT / "build_cache.py", folder)
        (folder / "ci").mkdir()
        shutil.copy(ROOT / "ci" / "wheel.py", folder / "ci")
        spec = importlib.util.spec_from_file_location("ci_wheel", folder / "ci" / "wheel.py")
        self.wheel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.wheel)
        monkeypatch.setattr(self.wheel, "build_environment", lambda: PYTHON)
        self.outside = folder / "outside.h"
        self.outside.touch()
        os.utime(self.outside, ns=(1000, 1000))
        self.outside.write_bytes(b"x")
        os.utime(self.outside, ns=(1000, 1000))
        monkeypatch.setenv("OUTSIDE", str(self.outside))
        monkeypatch.setenv("BUILDS", str(self.builds))
        monkeypatch.delenv("CDEVICE_CFLAGS", raising=False)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def build(self):
        """(the wheel, was it built)"""
        before = self.builds.read_text() if self.builds.exists() else ""
        folder = self.wheel.build("plain")
        assert (folder / "build.log").exists()
        return next(folder.glob("*.whl")), self.builds.read_text() != before


@pytest.fixture
def project(tmp_path, monkeypatch):
    return Project(tmp_path, monkeypatch)


def contents(wheel):
    with zipfile.ZipFile(wheel) as z:
        return {name: z.read(name) for name in z.namelist()}


def check_record(files):
    """Every row has the size and the checksum of its file, and every file a row."""
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(files[record].decode().splitlines())}
    for name, content in files.items():
        value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert rows[name] == (["", ""] if name == record else [f"sha256={value}", str(len(content))]), name


def test_a_wheel_with_other_python_files_is_the_one_that_a_build_makes(project):
    first, built = project.build()
    assert built
    project.write("cdevice/array.py", "value = 2\n")
    project.write("backends/cpu.py", "name = 'cpu'\n")
    project.write("cdevice/__init__.pyi", "value: int\n")
    second, built = project.build()
    assert not built and first.exists() and second != first
    exchanged = contents(second)
    check_record(exchanged)
    assert exchanged["cdevice/array.py"] == b"value = 2\n" and exchanged["cdevice/backends/cpu.py"] == b"name = 'cpu'\n"
    shutil.rmtree(project.folder / "build" / "wheels")
    third, built = project.build()
    assert built and third == second and contents(third) == exchanged


@pytest.mark.parametrize(
    "name, text",
    [
        ("cdevice/core.h", "int g(void);\n"),
        ("cdevice/more.py", ""),
        ("setup.py", SOURCES["setup.py"] + "# edited\n"),
        ("build_ffi.py", "# edited\n"),
        ("README.rst", "what the metadata say\n"),
    ],
)
def test_anything_but_the_text_of_a_module_is_built(project, name, text):
    project.build()
    project.write(name, text)
    assert project.build()[1]
    assert not project.build()[1]


def test_a_file_that_is_removed_leaves_the_wheel(project):
    project.build()
    (project.folder / "cdevice" / "array.py").unlink()
    wheel, built = project.build()
    assert built and "cdevice/array.py" not in contents(wheel)


def test_other_flags_and_other_system_headers_are_built(project, monkeypatch):
    project.build()
    monkeypatch.setenv("CFLAGS", "-DOTHER")
    assert project.build()[1]
    monkeypatch.delenv("CFLAGS")
    assert not project.build()[1]
    os.utime(project.outside, ns=(2000, 2000))
    assert project.build()[1]


def test_a_damaged_wheel_is_not_used(project):
    wheel, _ = project.build()
    wheel.write_bytes(wheel.read_bytes()[:-100])
    assert project.build()[1]
    check_record(contents(wheel))


def test_a_build_that_fails_says_why_and_leaves_nothing(project, capfd):
    project.write("setup.py", "raise RuntimeError('of the build')\n")
    with pytest.raises(SystemExit):
        project.build()
    assert "of the build" in capfd.readouterr().err
    assert not [*(project.folder / "build" / "wheels").iterdir()]


@pytest.fixture
def site(project):
    """Where the project's first wheel is installed by pip."""
    folder = project.folder / "site"
    command = [PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, project.build()[0]]
    subprocess.run(command, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return folder


def loaded(site):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import cdevice.array as a; print(a.value, a.__cached__)"
    done = subprocess.run([sys.executable, "-I", "-c", code, site], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_installation_is_brought_to_the_state_of_a_wheel(project, site):
    """A second edit of the same length in the same second is seen too."""
    for value in "2345":
        project.write("cdevice/array.py", f"value = {value}\n")
        wheel, _ = project.build()
        assert project.wheel.update(wheel, site)
        assert loaded(site)[0] == value
        record = next(site.glob("cdevice-1.dist-info/RECORD"))
        rows = [row for row in csv.reader(record.read_text().splitlines()) if row[1]]
        assert {row[0] for row in rows} >= {"cdevice/array.py", "cdevice-1.dist-info/direct_url.json"}
        for name, value, size in rows:
            content = (site / name).read_bytes()
            assert project.wheel.record_line(name, content) == [name, value, size]
        told = json.loads((record.parent / "direct_url.json").read_text())
        assert told["url"] == wheel.as_uri() and told["archive_info"]["hashes"]["sha256"] == project.wheel.checksum(
            wheel.read_bytes()
        )


def damage_header(project, site):
    project.write("cdevice/core.h", "int g(void);\n")


def damage_new_module(project, site):
    project.write("cdevice/more.py", "")


def damage_removed_module(project, site):
    (project.folder / "cdevice" / "array.py").unlink()


def damage_edited_installation(project, site):
    (site / "cdevice" / "array.py").write_text("value = 'edited'\n")


def damage_missing_file(project, site):
    (site / "cdevice" / "core.h").unlink()


def damage_no_installation(project, site):
    shutil.rmtree(site / "cdevice-1.dist-info")


def damage_other_version(project, site):
    (site / "cdevice-1.dist-info").rename(site / "cdevice-0.dist-info")


@pytest.mark.parametrize(
    "change",
    [
        damage_header, damage_new_module, damage_removed_module, damage_edited_installation, damage_missing_file,
        damage_no_installation, damage_other_version,
    ],
)  # fmt: skip
def test_pip_installs_whatever_is_more_than_an_edit(project, site, change):
    change(project, site)
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    assert not project.wheel.update(project.build()[0], site)
    assert before == {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
