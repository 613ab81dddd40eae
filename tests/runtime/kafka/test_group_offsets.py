"""Committing the offsets of a group: the client does not answer at all."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from fleet.errors import UnavailableError
from runtime.kafka import group_offsets
from runtime.kafka.group_offsets import commit_offsets


class Silent:
    """A client whose calls are never answered."""

    def alter_consumer_group_offsets(self, _wanted, *, request_timeout):
        assert request_timeout > 0
        return {"g": Future()}


def test_a_commit_without_an_answer_is_unavailable(monkeypatch):
    monkeypatch.setattr(group_offsets, "make_admin_client", lambda *_, **__: Silent())
    monkeypatch.setattr(group_offsets, "_GRACE_S", 0.0)
    with pytest.raises(
        UnavailableError, match=r"cluster B: committing offsets of g had no answer within 0\.01 s"
    ):
        commit_offsets(None, cluster="B", group="g", offsets={("t", 0): 1}, timeout_s=0.01)
