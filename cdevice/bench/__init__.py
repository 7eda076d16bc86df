"""Speed beside other libraries, in one process: ``python -m cdevice bench``.

``command`` reads the options and asks the others for their rows: ``operations`` (the cost of a call), ``startup``,
``growth``, ``stream``, ``dlpack``, ``embed``, ``plugin``, ``transfer``, ``compute``, ``first`` (calls of functions),
``gpu``.  They measure and compare; none fails because a machine is slow.
"""

from __future__ import annotations
