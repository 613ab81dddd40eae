"""How Burrow's users call a cluster: its alias, or what the configuration says."""

from __future__ import annotations

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch.configuration.reading import read_configuration

BASE = """\
clusters:
  A: {{bootstrap.servers: "localhost:9092"{a}}}
  B: {{bootstrap.servers: "localhost:9093"{b}}}
flows:
  A->B: {{topics: ".*"}}
"""


def read(folder, *, a="", b=""):
    path = folder / "mirrorwatch.yml"
    path.write_text(BASE.format(a=a, b=b), encoding="utf-8")
    return read_configuration(path, environ={})


def problems(folder, **names):
    with pytest.raises(ConfigurationError) as refused:
        read(folder, **names)
    return [(problem.key, problem.sentence) for problem in refused.value.problems]


def test_a_cluster_is_called_by_its_alias_unless_a_name_is_given(tmp_path):
    found = read(tmp_path, a=", burrow_name: local")
    assert found.burrow_names == {"A": "local", "B": "B"}


def test_the_name_is_nothing_that_a_kafka_client_is_told(tmp_path):
    found = read(tmp_path, a=", burrow_name: local")
    assert "burrow_name" not in found.clients["A"].librdkafka
    assert not [one for one in found.warnings if "burrow_name" in str(one)]


def test_aliases_may_change_places(tmp_path):
    assert read(tmp_path, a=", burrow_name: B", b=", burrow_name: A").burrow_names == {"A": "B", "B": "A"}


@pytest.mark.parametrize(
    ("names", "key", "said"),
    [
        ({"a": ", burrow_name: ''"}, "clusters.A.burrow_name", "1 to 200 characters"),
        ({"b": f", burrow_name: {'x' * 201}"}, "clusters.B.burrow_name", "1 to 200 characters"),
        ({"a": ", burrow_name: B"}, "clusters.A.burrow_name", "name of cluster B"),
        (
            {"a": ", burrow_name: c", "b": ", burrow_name: c"},
            "clusters.B.burrow_name",
            "name of cluster A",
        ),
    ],
)
def test_a_name_that_is_none_or_another_s_is_a_problem_at_its_line(tmp_path, names, key, said):
    ((found, sentence),) = problems(tmp_path, **names)
    assert found == key
    assert said in sentence


def test_an_alias_may_be_longer_than_a_name_for_burrow(tmp_path):
    long = "B" * 201
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(BASE.format(a="", b="").replace("  B:", f"  {long}:").replace("->B", f"->{long}"))
    assert read_configuration(path, environ={}).burrow_names == {"A": "A", long: long}
