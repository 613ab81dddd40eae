"""No file of the product is longer than a reader can follow."""

from __future__ import annotations

import pytest

from tests.house.import_rules import LAYERS
from tests.house.product_files import product_files, relative

LONGEST_LINES = 800  # 100 to 500 is usual; cut by subject, never for the number


@pytest.mark.parametrize("path", product_files({*LAYERS, "deploy"}), ids=relative)
def test_no_file_is_longer_than_allowed(path):
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST_LINES
