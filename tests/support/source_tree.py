"""Tests run on the installed package.  In a source tree with a built extension, backends/ stands in for
cdevice.backends."""

import importlib.util
import sys
import types

from paths import ROOT

if importlib.util.find_spec("cdevice") is None:
    sys.path.insert(0, str(ROOT))
if importlib.util.find_spec("cdevice.backends") is None:
    package = types.ModuleType("cdevice.backends")
    package.__path__ = [str(ROOT / "backends")]
    sys.modules["cdevice.backends"] = package
