"""Tests run on the installed package.  In a source tree with a built extension, backends/ stands in for
cdevice.backends."""

import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent

if importlib.util.find_spec("cdevice") is None:
    sys.path.insert(0, str(ROOT))
if importlib.util.find_spec("cdevice.backends") is None:
    package = types.ModuleType("cdevice.backends")
    package.__path__ = [str(ROOT / "backends")]
    sys.modules["cdevice.backends"] = package
