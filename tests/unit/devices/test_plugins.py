"""Installed plug-ins: found by entry points, imported when asked for, and harmless when broken."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from paths import TESTS

import cdevice

FAKE = """
from cdevice.testing.fake import FakeBackend
def Backend():
    return FakeBackend({type_id}, "{name}")
"""


@pytest.fixture
def installed(tmp_path):
    """install(distribution, {entry point: value}, {module: text}) and run(code) -> what it prints as JSON"""

    class Site:
        def install(self, distribution, entries, modules, group="cdevice.backends"):
            info = tmp_path / f"{distribution}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
            lines = [f"{name} = {value}" for name, value in entries.items()]
            (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
            for name, text in modules.items():
                (tmp_path / f"{name}.py").write_text(text)

        def fake(self, name, type_id, entry=None, distribution=None):
            self.install(
                distribution or f"{name}-device",
                {entry or f"{name}.{type_id}": f"{name}_plugin:Backend"},
                {f"{name}_plugin": FAKE.format(type_id=type_id, name=name)},
            )

        def run(self, code, **env):
            path = os.pathsep.join([str(tmp_path), *sys.path])
            done = subprocess.run(
                [
                    sys.executable,
                    "-W",
                    "always",
                    "-c",
                    "import source_tree, json, sys, cdevice\n" + textwrap.dedent(code),
                ],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "PYTHONPATH": path, **env},
            )
            assert done.returncode == 0, done.stderr
            self.stderr = done.stderr
            return json.loads(done.stdout)

    return Site()


MOVE = """
a = cdevice.asarray([1, 2, 3]).to({device!r})
print(json.dumps([str(a.device), a.to("cpu").to_pylist(), [m for m in sys.modules if m.endswith("_plugin")]]))
"""


def test_a_plug_in_is_found_by_its_name_and_by_its_number_and_only_that_one_is_imported(installed):
    installed.fake("acme", 120)
    installed.fake("other", 121)
    for device in ("acme:1", "120:1"):
        assert installed.run(MOVE.format(device=device)) == [
            "acme:1" if device[0] == "a" else "acme:1",
            [1, 2, 3],
            ["acme_plugin"],
        ]


def test_a_name_of_the_specification_needs_no_number(installed):
    installed.fake("shaders", 7, entry="vulkan")
    assert installed.run(MOVE.format(device="vulkan")) == ["shaders:0", [1, 2, 3], ["shaders_plugin"]]


def test_a_name_that_does_not_tell_its_type_is_loaded_last(installed):
    installed.fake("acme", 120)
    installed.fake("quiet", 122, entry="quiet")
    assert installed.run(MOVE.format(device="120")) == ["acme:0", [1, 2, 3], ["acme_plugin"]]
    assert installed.run(MOVE.format(device="quiet"))[:2] == ["quiet:0", [1, 2, 3]]
    assert installed.run(MOVE.format(device="122"))[:2] == ["quiet:0", [1, 2, 3]]


def test_twenty_plug_ins_cost_an_import_nothing(installed):
    for i in range(20):
        installed.fake(f"p{i}", 200 + i)
    code = """
    cdevice.asarray([1]).to("cpu", copy=True); cdevice.device("cuda:0"); cdevice.DeviceType
    print(json.dumps([m for m in sys.modules if m.endswith("_plugin") or m == "importlib.metadata"]))
    """
    assert installed.run(code) == []


def test_the_full_list_holds_every_plug_in_and_where_it_came_from(installed):
    installed.fake("acme", 120)
    code = """
    b = cdevice.list_backends()[120]
    print(json.dumps([b.name, b.origin, b.loaded, b.error, [str(d) for d in cdevice.devices("acme")]]))
    """
    assert installed.run(code) == ["acme", "acme-device 1.0", True, None, ["acme:0", "acme:1"]]


BROKEN = {
    "raises at import": "raise RuntimeError('no licence found')\n",
    "has no such name": "Other = 1\n",
    "raises when made": "def Backend():\n    raise OSError('no card')\n",
    "is not a backend": "Backend = 42\n",
    "serves another type": FAKE.format(type_id=77, name="broken"),
    "has a bad name": FAKE.format(type_id=130, name="No Name!"),
    "is no library": "Backend = '/nowhere/libbroken.so'\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plug_in_is_named_where_asked_for_and_harms_nobody(installed, kind):
    installed.install("broken-device", {"broken.130": "broken_plugin:Backend"}, {"broken_plugin": BROKEN[kind]})
    installed.fake("acme", 120)
    code = """
    try:
        cdevice.asarray([1]).to("broken")
        text = None
    except cdevice.BackendUnavailable as e:
        text = str(e)
    listed = cdevice.list_backends()
    fine = cdevice.asarray([1]).to("acme").to("cpu").to_pylist()
    names = [str(d) for d in cdevice.devices()]
    print(json.dumps([text, listed[130].error, listed[130].origin, fine, "acme:0" in names and "cpu" in names]))
    """
    text, error, origin, fine, devices = installed.run(code)
    assert 'plug-in "broken" of broken-device 1.0' in text and 'plug-in "broken"' in error
    assert origin == "broken-device 1.0" and fine == [1] and devices


def test_the_command_line_shows_a_broken_plug_in(installed):
    installed.install(
        "broken-device", {"broken.130": "broken_plugin:Backend"}, {"broken_plugin": "import nothing_like_it"}
    )
    code = """
    import contextlib, io
    from cdevice import cli
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cli.main(["devices"])
    print(json.dumps(out.getvalue()))
    """
    text = installed.run(code)
    assert "broken: " in text.replace("broken  ", "broken: ") and "nothing_like_it" in text


def test_explicit_registration_wins_over_discovery(installed):
    installed.fake("acme", 120)
    code = """
    from cdevice.testing.fake import FakeBackend
    cdevice.register_backend(FakeBackend(120, "mine"))
    a = cdevice.asarray([1]).to("120:0")
    print(json.dumps([str(a.device), "acme_plugin" in sys.modules, cdevice.list_backends()[120].origin]))
    """
    assert installed.run(code)[:2] == ["mine:0", False]


def test_two_for_one_type_are_both_named_and_a_variable_chooses(installed):
    installed.fake("acme", 120)
    installed.fake("bolt", 120)
    assert installed.run(MOVE.format(device="120"))[0] == "acme:0"
    assert '"acme" of acme-device 1.0' in installed.stderr and '"bolt" of bolt-device 1.0' in installed.stderr
    assert "CDEVICE_BACKENDS=120=bolt" in installed.stderr
    assert installed.run(MOVE.format(device="120"), CDEVICE_BACKENDS="120=bolt")[0] == "bolt:0"
    assert "bolt" not in installed.stderr
    code = """
    try:
        cdevice.asarray([1]).to("120")
    except cdevice.BackendUnavailable as e:
        print(json.dumps(str(e)))
    """
    assert "no such plug-in" in installed.run(code, CDEVICE_BACKENDS="120=nobody")


def test_a_built_in_keeps_its_type_unless_the_variable_says_otherwise(installed):
    installed.fake("faster", 2, entry="cuda")
    code = """
    found = cdevice.list_backends()[2]
    print(json.dumps([found.name, found.error]))
    """
    assert installed.run(code) == ["cuda", None]
    assert "no such plug-in" in installed.run(code, CDEVICE_BACKENDS="cuda=faster")[1]
    installed.fake("swift", 2, entry="swift.2")
    assert installed.run(code, CDEVICE_BACKENDS="cuda=swift") == ["swift", None]


def test_a_variable_switches_plug_ins_off(installed):
    installed.fake("acme", 120)
    installed.fake("bolt", 121)
    code = "print(json.dumps([sorted(str(int(t)) for t in cdevice.list_backends() if t in (120, 121))]))"
    assert installed.run(code) == [["120", "121"]]
    assert installed.run(code, CDEVICE_BACKENDS="none") == [[]]
    assert installed.run(code, CDEVICE_BACKENDS="-acme") == [["121"]]
    code = """
    try:
        cdevice.asarray([1]).to("opencl")
    except cdevice.BackendUnavailable as e:
        print(json.dumps(str(e)))
    """
    assert "disabled by CDEVICE_BACKENDS" in installed.run(code, CDEVICE_BACKENDS="-opencl")


def test_an_array_of_a_plug_ins_device_may_come_before_anything_asked_for_it(installed):
    installed.fake("acme", 120)
    code = """
    from cdevice._runtime.ext import ffi, lib
    d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
    cdevice.asarray([1, 2, 3])._export_structs(int(ffi.cast("uintptr_t", d)), int(ffi.cast("uintptr_t", s)))
    d.device_type, d.device_id, d.sync_event = 120, 0, ffi.cast("void *", 4096)
    a = cdevice.import_from_c(d, s)
    before = "acme_plugin" in sys.modules
    try:
        a.ready  # the plug-in is asked, and knows no such event
    except cdevice.DeviceError as e:
        print(json.dumps([before, "KeyError" in str(e)]))
    """
    assert installed.run(code)[1] is True


def test_the_built_in_backends_are_in_the_same_group():
    from importlib.metadata import entry_points

    from cdevice._devices.tables import BUILTIN

    found = {e.name: e.value for e in entry_points(group="cdevice.backends")}
    if not found:
        pytest.skip("the package is not installed here: pip install .")
    for name, value in BUILTIN.values():
        assert found[name] == value


# ---- plug-ins that were built long ago ----
ABI = TESTS / "abi"


def built_for(header, tmp_path):
    cc = shutil.which("cc") or pytest.skip("no compiler: apt-get install gcc")
    out = tmp_path / (pathlib.Path(header).stem + ".so")
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
    subprocess.run(
        [cc, "-shared", "-fPIC", "-std=gnu11", f'-DHEADER="{header}"', f"-I{ABI}", f"-I{cdevice.get_include()}"]
        + ["-o", str(out), str(ABI / "plugin.c")],
        check=True,
        env=plain,
    )
    return out


@pytest.mark.parametrize("header", sorted(p.name for p in ABI.glob("backend_*.h")))
def test_a_plug_in_built_against_an_older_header_goes_on_working(header, tmp_path):
    code = f"""
import source_tree, cdevice
cdevice.load_backend({str(built_for(header, tmp_path))!r})
there = cdevice.asarray(["a", None, "long enough to be seen"]).to("frozen:1")
assert there[1:].to("cpu").to_pylist() == [None, "long enough to be seen"]
assert there.device.name == "frozen 1" and len(cdevice.devices("frozen")) == 2
try:
    cdevice.asarray([1]).to("frozen:2")
except ValueError as e:
    assert "no device frozen:2" in str(e)
print("works")
"""
    path = [str(ABI.parent), *(p for p in sys.path if p)]
    p = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert p.stdout == "works\n", p.stderr


@pytest.mark.parametrize("header", sorted(p.name for p in ABI.glob("backend_*.h")))
def test_no_member_has_moved_since_that_header(header, tmp_path):
    def layout(name):
        library = ctypes.CDLL(str(built_for(name, tmp_path)))
        library.layout.restype = ctypes.c_char_p
        return library.layout().decode().splitlines()

    assert layout("cdevice/backend.h") == layout(header)
    frozen = re.search(r"define CDEVICE_BACKEND_ABI 0x(\w+)", (ABI / header).read_text())[1]
    now = re.search(
        r"define CDEVICE_BACKEND_ABI 0x(\w+)", pathlib.Path(cdevice.get_include(), "cdevice/backend.h").read_text()
    )[1]
    assert int(now, 16) >= int(frozen, 16) and int(now, 16) >> 16 == int(frozen, 16) >> 16


LISTING = """
import contextlib, io
from cdevice import cli
out = {}
for words in (["devices"], ["devices", "-v"], ["devices", "--json"]):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = cli.main(words)
    out[" ".join(words)] = [code, text.getvalue()]
print(json.dumps([out, [str(d) for d in cdevice.devices()][:1]]))
"""


@pytest.mark.parametrize(
    ("entries", "module", "said"),
    [
        ({"wrong": "bad_plugin:Backend"}, "class Backend: pass", '"wrong"'),
        ({"wrong.x": "bad_plugin:Backend"}, "", "behind the dot belongs an ArrowDeviceType"),
        ({"wrong.\u00b2": "bad_plugin:Backend"}, "", "behind the dot"),
        ({"wrong.-3": "bad_plugin:Backend"}, "", "behind the dot"),
        ({"wrong.99999999999999999999": "bad_plugin:Backend"}, "", "behind the dot"),
        ({"wrong": "no value at all"}, "", '"wrong"'),
        ({"wrong": "bad_plugin:Backend"}, "import sys; sys.exit('bye')", "SystemExit: bye"),
        ({"wrong": "bad_plugin:Backend"}, "raise KeyError('x')", "KeyError"),
        ({"wrong.77": "bad_plugin:Backend"}, "Backend = 5", "5 is not a backend"),
        ({"wrong.77": "bad_plugin:Backend"}, "class Backend: device_type = 'x'", "must be a number, not 'x'"),
    ],
    ids=repr,
)
def test_listing_survives_any_plug_in_and_tells_what_is_wrong(installed, entries, module, said):
    installed.install("bad-device", entries, {"bad_plugin": module})
    found, first = installed.run(LISTING)
    assert first == ["cpu"] and {code for code, _ in found.values()} == {0}
    for _, text in found.values():
        assert said in text.replace("\\u00b2", "\u00b2").replace('\\"', '"')


def test_listing_survives_a_distribution_that_cannot_be_read(installed, tmp_path):
    installed.install("bad-device", {"fine.78": "bad_plugin:Backend"}, {"bad_plugin": ""})
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[console_scripts]\nthis line is no entry point\n")
    found, _ = installed.run(LISTING)
    assert {code for code, _ in found.values()} == {0}


def test_listing_survives_a_device_count_that_fails(installed):
    installed.install(
        "bad-device",
        {"bad.79": "bad_plugin:Backend"},
        {
            "bad_plugin": "from cdevice.testing.fake import FakeBackend\n"
            "class Backend(FakeBackend):\n"
            "    def __init__(self): super().__init__(79, 'bad')\n"
            "    def device_count(self): raise RuntimeError('no count today')\n"
        },
    )
    found, _ = installed.run(LISTING)
    assert {code for code, _ in found.values()} == {0}
    assert "no count today" in found["devices -v"][1]


def test_devices_v_tells_what_is_known_of_each_device(installed):
    found, _ = installed.run(LISTING)
    listed = json.loads(found["devices --json"][1])["devices"]
    cpu = next(d for d in listed if d["device"] == "cpu")
    assert cpu["info"]["alignment"] >= 8 and "alignment" in found["devices -v"][1]


# ---- what an author of a plug-in is told ----
class Acme(cdevice.Backend):
    name, device_type = "acme", 6120
    capabilities = cdevice.Capability.ADDRESS
    install_hint = "acme needs the driver acme-7"
    devices = 1

    def device_count(self):
        return self.devices

    def alloc(self, nbytes, *, device_id, stream=0):
        memory = ctypes.create_string_buffer(nbytes + 64)
        memory.data = (ctypes.addressof(memory) + 63) & ~63
        return memory

    def free(self, block):
        pass

    def copy(self, kind, copies, *, stream=0):
        for c in copies:
            ctypes.memmove(c.dst + c.dst_offset, c.src + c.src_offset, c.nbytes)


@pytest.fixture
def acme():
    """acme(**members) registers a backend with some members replaced."""
    made = []

    def register(base=Acme, **members):
        backend = type("Acme", (base,), members)()
        cdevice.register_backend(backend)
        made.append(backend)
        return backend

    yield register
    for b in made:
        cdevice.unregister_backend(b.device_type)


def test_register_backend_takes_a_class():
    cdevice.register_backend(Acme)
    assert cdevice.asarray([1, 2]).to("acme").to("cpu").to_pylist() == [1, 2]
    cdevice.unregister_backend("acme")

    class Needy(Acme):
        def __init__(self, card):
            pass

    with pytest.raises(TypeError, match=r"Needy\(\) failed .*'card'.*pass an instance"):
        cdevice.register_backend(Needy)


@pytest.mark.parametrize(
    ("capabilities", "left_out", "named"),
    [
        (2, ["copy"], r"has no copy\(\)$"),
        (2, ["alloc", "free", "device_count"], r"has no device_count\(\), alloc\(\), free\(\)$"),
        (2 | 4, [], r"has no event_record\(\), event_done\(\), event_wait\(\) \(its capabilities have EVENTS\)$"),
        (0, [], r"has no view\(\) \(its capabilities have no ADDRESS\)$"),
        (4, ["copy"], r"copy\(\); event_record.*EVENTS\); view\(\) .*no ADDRESS\)$"),
    ],
)
def test_register_backend_names_all_missing_methods_at_once(capabilities, left_out, named):
    members = {name: getattr(cdevice.Backend, name) for name in left_out}
    made = type("Acme", (Acme,), {"capabilities": cdevice.Capability(capabilities), **members})
    for backend in (made, made()):
        with pytest.raises(cdevice.ArgumentError, match=named) as e:
            cdevice.register_backend(backend)
        assert 'the backend "acme" (Acme)' in str(e.value)
    assert 6120 not in cdevice.list_backends()


def test_a_wrong_result_of_a_method_is_a_sentence(acme):
    acme(alloc=lambda self, nbytes, *, device_id, stream=0: None)
    with pytest.raises(cdevice.DeviceError, match=r"alloc\(\) .*it returned None; expected an address or a handle"):
        cdevice.asarray([1]).to("acme")


def test_a_wrong_device_info_is_a_sentence(acme):
    acme(device_info=lambda self, device_id: {"name": "x"})
    for ask in (lambda: cdevice.device("acme").info, lambda: cdevice.asarray([1]).to("acme")):
        with pytest.raises(
            cdevice.DeviceError, match=r"returned an object of type dict; expected a cdevice.DeviceInfo"
        ):
            ask()


def test_a_wrong_event_is_a_sentence(acme):
    members = {n: lambda self, *a, **k: None for n in ("event_done", "event_wait")}
    events = cdevice.Capability.ADDRESS | cdevice.Capability.EVENTS
    acme(capabilities=events, event_record=lambda self, *, device_id, stream=0: "e", **members)
    with pytest.raises(cdevice.DeviceError, match="returned an object of type str; expected an address"):
        cdevice.asarray([1]).to("acme")


def test_where_a_backend_finds_no_device_its_hint_says_what_to_install(acme):
    acme(devices=0)
    stream = lambda: cdevice.asstream([cdevice.asarray([1])])
    ways = [
        lambda: cdevice.asarray([1]).to("acme"),
        lambda: stream().to("acme"),
        lambda: stream().to("acme", prefetch=2),
        lambda: cdevice.device("acme").info,
        lambda: cdevice.device("acme").name,
        lambda: cdevice.devices("acme"),
    ]
    for ask in ways:
        with pytest.raises(cdevice.BackendUnavailable) as e:
            ask()
        assert str(e.value) == "no device acme:0: acme finds none here; acme needs the driver acme-7"
        assert e.value.hint == Acme.install_hint and e.value.device == "acme:0"
    assert not [d for d in cdevice.devices() if d.type_id == 6120]  # listing devices does not fail


@pytest.mark.parametrize(("devices", "there"), [(1, "there is 1"), (3, "there are 3")])
def test_a_device_number_beyond_those_there_are_is_said_with_their_number(acme, devices, there):
    acme(devices=devices)
    for ask in (lambda d: cdevice.asarray([1]).to(d), lambda d: cdevice.device(d).info):
        with pytest.raises(cdevice.ArgumentError) as e:
            ask("acme:5")
        assert str(e.value) == f"no device acme:5: {there}"
    with pytest.raises(cdevice.ArgumentError, match=f"no device acme:5: {there}"):
        cdevice.asstream([cdevice.asarray([1])]).to("acme:5")


def test_after_unregister_backend_an_installed_plug_in_comes_back(installed):
    installed.fake("acme", 120)
    code = """
    first = cdevice.asarray([1]).to("acme").to("cpu").to_pylist()
    cdevice.unregister_backend("acme")
    print(json.dumps([first, cdevice.asarray([2]).to("acme").to("cpu").to_pylist(), cdevice.unregister_backend.__doc__]))
    """
    first, second, told = installed.run(code)
    assert (first, second) == ([1], [2]) and "comes back when its device is next asked for" in told


def test_unknown_words_of_the_variable_are_warned_of_once(installed):
    installed.fake("acme", 120)
    code = "print(json.dumps([len(cdevice.list_backends()) > 3, len(cdevice.devices()) > 0]))"
    for word in ("nonsense", "wrong=acme", "4=", "-"):
        installed.run(code, CDEVICE_BACKENDS=f"{word},-bolt")
        assert installed.stderr.count("DeviceWarning") == 1 and f'"{word}" is not understood' in installed.stderr
    for words in ("none", "-acme", "120=acme", " none , -acme ", "", "vulkan=acme"):
        installed.run(code, CDEVICE_BACKENDS=words)
        assert "DeviceWarning" not in installed.stderr, words


def test_a_choice_that_nobody_is_called_is_named_where_its_device_is_missing(installed):
    code = (
        LISTING
        + """
try:
    cdevice.asarray([1]).to("opencl")
except cdevice.BackendUnavailable as e:
    print(json.dumps([out, str(e)]), file=sys.stderr)
"""
    )
    installed.run(code, CDEVICE_BACKENDS="4=foo")
    found, error = json.loads(installed.stderr.splitlines()[-1])
    assert "CDEVICE_BACKENDS chooses 'foo'" in error
    assert all("CDEVICE_BACKENDS chooses 'foo'" in text for _, text in found.values())


# ---- imports and locks ----
def test_a_plug_in_that_computes_while_it_is_imported_and_a_thread_that_needs_it_do_not_wait_for_each_other(installed):
    """One thread loads the entry point and waits for the module, which another thread is importing; that one computes."""
    module = """
import sys, threading
import cdevice.compute as cc
def waits(thread):  # for a module that another thread imports
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_name == "acquire" and "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
main = threading.main_thread().ident
sys.begun.set()
pause = threading.Event()
while not waits(main):
    pause.wait(0.001)
try:
    cc.call_function("a_name_that_nobody_has", [[1]])
except KeyError:
    sys.computed = True
def register(registry):
    sys.registered = getattr(sys, "registered", 0) + 1
"""
    installed.install("kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": module}, "cdevice.compute")
    code = """
    import faulthandler, threading
    import cdevice.compute as cc
    faulthandler.dump_traceback_later(40, exit=True)
    sys.begun, sys.computed = threading.Event(), False
    thread = threading.Thread(target=__import__, args=("acme_kernels",))
    thread.start()
    sys.begun.wait(30)
    try:
        cc.call_function("another_name_that_nobody_has", [[1]])
    except KeyError:
        pass
    thread.join(30)
    print(json.dumps([sys.computed, sys.registered]))
    """
    assert installed.run(code) == [True, 1]
    assert "cannot be used" not in installed.stderr


def test_kernels_that_one_thread_registers_are_waited_for_by_others(installed):
    module = """
import sys
import cdevice.compute as cc
def register(registry):
    sys.inside.set()
    cc.add([1], [2])  # what is registered may compute
    sys.go.wait(30)
    sys.registered = getattr(sys, "registered", 0) + 1
"""
    installed.install("kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": module}, "cdevice.compute")
    code = """
    import threading
    import cdevice.compute as cc
    sys.inside, sys.go = threading.Event(), threading.Event()
    seen = []
    def ask():
        try:
            cc.call_function("a_name_that_nobody_has", [[1]])
        except KeyError:
            seen.append(getattr(sys, "registered", 0))
    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    sys.inside.wait(30)
    [t.start() for t in threads[1:]]
    early = list(seen)
    sys.go.set()
    [t.join(30) for t in threads]
    print(json.dumps([early, seen]))
    """
    assert installed.run(code) == [[], [1, 1, 1, 1]]


def test_two_threads_that_need_one_plug_in_load_it_once(installed):
    module = """
import sys
from cdevice.testing.fake import FakeBackend
def Backend():
    sys.made = getattr(sys, "made", 0) + 1
    sys.inside.set()
    sys.go.wait(30)
    return FakeBackend(120, "acme")
"""
    for entry in ("acme.120", "acme"):
        installed.install(f"acme{len(entry)}", {entry: "acme_plugin:Backend"}, {"acme_plugin": module})
        code = """
        import threading
        sys.inside, sys.go = threading.Event(), threading.Event()
        seen = []
        def ask():
            try:
                seen.append(cdevice.asarray([1]).to((120, 0)).to("cpu").to_pylist())
            except cdevice.Error as e:
                seen.append(str(e))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        threads[0].start()
        sys.inside.wait(30)
        [t.start() for t in threads[1:]]
        sys.go.set()
        [t.join(30) for t in threads]
        print(json.dumps([seen, sys.made]))
        """
        assert installed.run(code, CDEVICE_BACKENDS="") == [[[1]] * 4, 1]


def test_ctrl_c_in_the_load_of_a_plug_in_leaves_it_to_be_loaded_again(installed):
    module = """
import sys
from cdevice.testing.fake import FakeBackend
def Backend():
    sys.made = getattr(sys, "made", 0) + 1
    if sys.made == 1:
        raise KeyboardInterrupt
    return FakeBackend(120, "acme")
"""
    installed.install("acme", {"acme.120": "acme_plugin:Backend"}, {"acme_plugin": module})
    code = """
    import threading
    try:
        cdevice.asarray([1]).to((120, 0))
        first = "no interrupt"
    except KeyboardInterrupt:
        first = "interrupted"
    seen = []
    ask = lambda: seen.append(cdevice.asarray([1]).to((120, 0)).to("cpu").to_pylist())
    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(30)
    print(json.dumps([first, seen, sys.made]))
    """
    assert installed.run(code) == ["interrupted", [[1], [1]], 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device_type", 2**32 + 12),
        ("device_type", 12 - 2**32),
        ("device_type", 2**40),
        ("capabilities", 2**32 | 2),
        ("capabilities", -1),
        ("name", "a\0b"),
    ],
)
def test_numbers_and_names_of_a_python_backend_are_not_cut(name, value):
    from cdevice.testing.fake import FakeBackend

    backend = FakeBackend(5399, "uncut")
    setattr(backend, name, value)
    with pytest.raises((ValueError, OverflowError)):
        cdevice.register_backend(backend)


def test_a_negative_number_is_no_address_of_a_block():
    from waiting import unregister

    from cdevice.testing.fake import FakeBackend

    class Negative(FakeBackend):
        def alloc(self, nbytes, *, device_id, stream=0):
            return -8

    backend = Negative(5398, "negative")
    cdevice.register_backend(backend)
    try:
        with pytest.raises(cdevice.DeviceError):
            cdevice.asarray([1]).to("negative")
    finally:
        unregister(backend)


def test_what_as_stream_raises_or_gives_is_told_with_its_name():
    from waiting import unregister

    from cdevice.testing.fake import FakeBackend

    class Odd(FakeBackend):
        answer = None

        def as_stream(self, obj):
            if self.answer is None:
                raise ZeroDivisionError("mine")
            return self.answer

    backend = Odd(5397, "odd")
    cdevice.register_backend(backend)
    try:
        with pytest.raises(cdevice.DeviceError, match=r"as_stream\(\) of Odd raised ZeroDivisionError: mine"):
            cdevice.asarray([1]).to("odd", stream=object())
        for backend.answer in ("zz", b"x", 1.5):
            with pytest.raises(TypeError, match=r"as_stream\(\) of Odd returned"):
                cdevice.asarray([1]).to("odd", stream=object())
    finally:
        unregister(backend)


RACE = """
import threading, cdevice
x, b, bad = cdevice.asarray([1, 2, 3]), threading.Barrier(8), []
def work():
    b.wait()
    try:
        x.to("opencl")
    except Exception as e:
        bad.append(e)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(bad or "all have it")
"""


def test_threads_that_use_a_device_first_at_once_all_get_it():
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "all have it", done.stdout + done.stderr
