"""What the service's process loads: no library that only the lag monitor's process, its child, needs."""

from __future__ import annotations

import subprocess
import sys

from tests.house.product_files import ROOT

# Says what imports a library first, and what imports that, up to the program: where to split a module.
PROGRAM = """
import sys

class Asked:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1:]:
            frame, chain = sys._getframe(), []
            while frame := frame.f_back:
                if "importlib" not in frame.f_code.co_filename:
                    chain.append(frame.f_globals["__name__"])
            sys.exit(name + ", imported by " + ", by ".join(chain))

sys.meta_path.insert(0, Asked())
"""
SERVICE = "import mirrorwatch.cli.main, mirrorwatch.configuration.reading, mirrorwatch.service.service, runtime.process.shutdown\n"
# Checksums are told beside what is imported at once: that must load nothing either.
TOLD = """
from lagmon.exposition.format import Form
from mirrorwatch.audits.series import ChecksumSeries
from mirrorwatch.audits.flow_audit import TopicAudit
topic = TopicAudit(at=1.0, coverage=1.0, records={}, verified_at=1.0)
assert ChecksumSeries([(("A->B", "A", "B"), {"orders": topic})]).text(Form.PLAIN)
"""


def loads(program: str, *libraries: str) -> str:
    """Return which of these a fresh process with this program loads first, and for whom; "" for none."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM + program, *libraries],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )
    return ended.stderr if ended.returncode else ""


def test_the_service_loads_nothing_that_it_has_no_use_for():
    found = loads(SERVICE + TOLD, "numpy", "pyspark", "rich", "cryptography")
    assert not found, (
        "the service's process loads a library that it has no use for, which is memory of everybody who runs"
        f" it (NumPy: 7 MiB): put what needs it in a module of its own. {found}"
    )


def test_what_imports_a_library_is_told():
    found = loads("import lagmon.exposition.family", "numpy")
    assert found == "numpy, imported by lagmon.exposition.family, by __main__\n"
