"""Stories of groups, mirrors and brokers that take minutes, on one stack: all begin at once, then each is looked at."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

pytest.register_assert_rewrite(
    "tests.real.lag.readers",
    "tests.real.lag.stage",
    "tests.real.lag.stories_of_brokers",
    "tests.real.lag.stories_of_groups",
    "tests.real.lag.stories_of_mirrors",
)

from tests.real.lag import stories_of_brokers as brokers  # noqa: E402 - what was imported is not rewritten
from tests.real.lag import stories_of_groups as groups  # noqa: E402
from tests.real.lag import stories_of_mirrors as mirrors  # noqa: E402
from tests.real.lag.stage import Stage  # noqa: E402

STORIES = (
    groups.groups_that_commit_where_they_stand,
    groups.groups_that_go_back_to_the_beginning,
    groups.groups_whose_records_are_deleted_unread,
    groups.groups_on_a_topic_that_is_made_anew,
    groups.groups_that_read_more_slowly_than_is_written,
    brokers.groups_whose_offsets_expire,
    brokers.what_is_read_after_a_compaction,
    brokers.a_broker_of_three_that_is_away,
    mirrors.what_the_target_lacks_and_a_mirror_that_is_killed,
    mirrors.probes_that_only_the_mirrors_own_offsets_prove_lost,
)
DEADLINE_S = 900  # each story has shorter ones


@pytest.fixture(scope="module")
def told(kafka_pair, _mirrors, tmp_path_factory):
    """Give every story's future, and the stage, of which the service is ended last."""
    with (
        Stage(kafka_pair, _mirrors, tmp_path_factory.mktemp("at-once")) as stage,
        ThreadPoolExecutor(len(STORIES)) as pool,
    ):
        yield {story: pool.submit(story, stage) for story in STORIES}, stage


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_what_is_said_is_true_of(told, story):
    futures, _ = told
    futures[story].result(DEADLINE_S)


@pytest.mark.long
def test_the_service_that_saw_all_of_it_ends_in_order(told):
    futures, stage = told
    assert not wait(futures.values(), DEADLINE_S).not_done
    stage.service.end()
    assert "Traceback" not in stage.service.logged()
