from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.service.recovery_point import RecoveryPoint
from mirrorwatch.web import texts
from mirrorwatch.web.pages.page import Page, anchor, counter_groups
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup

V = Verdict


@pytest.fixture(scope="module")
def page():
    return Page()


def _drawn(page, *flows, **service):
    return Markup(page.page(views.service(*flows, **service)))


@pytest.mark.parametrize(
    ("verdicts", "headline", "title"),
    [
        ([], "No flows configured", "no flows"),
        ([V.HEALTHY], "The flow is healthy", "healthy"),
        ([V.HEALTHY] * 2, "Both flows are healthy", "healthy"),
        ([V.HEALTHY] * 3, "All 3 flows are healthy", "healthy"),
        ([V.UNKNOWN], "The flow is not known", "unknown 1/1"),
        ([V.UNKNOWN] * 2, "2 of 2 flows are not known", "unknown 2/2"),
        ([V.LOSING], "The flow is losing records", "losing 1/1"),
        ([V.LOSING, V.HEALTHY, V.HEALTHY], "1 of 3 flows is losing records", "losing 1/3"),
        ([V.LOSING, V.LATE, V.LATE], "1 of 3 flows is losing records, 2 are late", "losing 1/3"),
        ([V.STALLED, V.STALLED, V.UNKNOWN], "2 of 3 flows are stalled, 1 is not known", "stalled 2/3"),
        ([V.ALTERED, V.REPEATING], "1 of 2 flows is altering records, 1 is repeating records", "altered 1/2"),
        ([V.HEALTHY, V.UNKNOWN], "1 of 2 flows is not known", "unknown 1/2"),
    ],
)
def test_the_first_line_shows_how_things_are(page, verdicts, headline, title):
    flows = [views.flow(f"A{number}", "B", verdict) for number, verdict in enumerate(verdicts)]
    view = views.service(*flows)
    assert texts.headline(view) == headline
    assert texts.title(view) == f"{title} · mirrorwatch"
    markup = Markup(page.page(view))
    assert headline in markup.text
    assert len(markup.all("h1")) == 1


@pytest.mark.parametrize("verdict", list(V))
def test_every_verdict_has_word_sign_and_icon(page, verdict):
    markup = _drawn(page, views.flow(verdict=verdict))
    assert f"{texts.GLYPHS[verdict]} {verdict}" in markup.text
    icon = next(link["href"] for link in markup.all("link") if link["rel"] == "icon")
    assert icon == page.asset(f"icon-{verdict}.svg")
    assert f"--{verdict}:" in page.static["page.css"].body.decode()


def test_a_loss_is_shown_with_partition_time_and_offset(page):
    markup = _drawn(page, views.flow(verdict=V.LOSING), views.flow("B", "A"))
    assert "17 canary records lost (6 partitions): newer ones arrived" in markup.text
    assert "20:26:20 UTC 0 918204 mirrorwatch-canary written to source at offset 918204" in markup.text
    assert "7 older" in markup.text
    assert "canary, 20:26:20 UTC, mirrorwatch-canary, partition 3, source offset 918204" in markup.text


def test_what_holds_now_comes_first_and_what_is_past_below(page):
    text = _drawn(page, views.stalled_beside_losing()).text
    assert "A → B ■ stalled recently ✕ losing since 20:26:10 UTC (30 s)" in text
    now = text.index("No canary records replicated for 30 s on any partition. mirror_down")
    assert now < text.index("Recently ✕ losing, since 20:23:20 UTC: 17 canary records lost")
    assert "The flow is stalled" in text
    assert "1 flow was losing records recently." in text
    assert "ecently" not in _drawn(page, views.flow(verdict=V.LOSING)).text


def test_a_flow_that_delivers_again_shows_so_first_and_is_not_green(page):
    drawn = _drawn(page, views.healthy_after_losing())
    assert "✓ healthy recently ✕ losing Canary records arrive on 6 of 6 partitions." in drawn.text
    assert "The flow is healthy" in drawn.text
    assert 'class="headline v-losing"' in page.page(views.service(views.healthy_after_losing()))


def test_the_table_of_losses_and_the_evidence_do_not_both_stand_open(page):
    rows = tuple(views.evidence(f"row {number}") for number in range(5))
    losing = views.flow(verdict=V.LOSING, evidence_rows=rows)
    assert "Evidence 5 rows row 0" in _drawn(page, losing).text
    assert "Evidence 1 row row 0" in _drawn(page, replace_evidence(losing, rows[:1])).text
    # Without such a table, and of what is wrong right now, the first rows are there at once.
    assert "Evidence row 0" in _drawn(page, replace(losing, losses=())).text
    assert "2 more row 3" in _drawn(page, replace(losing, losses=())).text
    text = _drawn(page, views.stalled_beside_losing()).text
    assert "Evidence a canary record has waited on A for 30 s" in text
    assert f"1 more {views.ABSENT}" in text


def replace_evidence(flow, rows):
    return replace(flow, verdict=replace(flow.verdict, evidence=rows))


def test_several_probes_that_were_lost_in_a_row_are_counted_in_one_line(page):
    in_a_row = views.loss(4)
    unknown = replace(views.loss(3), count=1200)
    text = _drawn(page, views.flow(verdict=V.LOSING, losses=(in_a_row, unknown, views.loss()))).text
    assert f"UTC 4 50 probes from offset {in_a_row.source_offset} mirrorwatch-canary" in text
    assert "UTC 3 1,200 probes mirrorwatch-canary" in text
    assert "UTC 0 918204 mirrorwatch-canary" in text


def test_latencies_of_a_standing_flow_are_called_old(page):
    assert (
        "Latencies are 1 min 45 s old: no measurement since."
        in _drawn(page, views.flow(verdict=V.STALLED)).text
    )


def test_a_flow_that_warms_up_shows_dashes_and_shows_why(page):
    text = _drawn(page, views.flow(verdict=V.UNKNOWN)).text
    assert "it warms up until its first one arrives" in text
    assert "No measurements in the last 15 minutes." in text
    assert f"Recovery point{texts.NOTHING}" in text


def test_a_recovery_point_shows_what_its_age_is_worth(page):
    shown = {
        kind: _drawn(page, replace(views.flow(), recovery_point=RecoveryPoint(7200.0, kind))).text
        for kind in ("exact", "at_least", "estimate")
    }
    assert "Recovery point2 h" in shown["exact"]
    assert "Recovery pointat least 2 h" in shown["at_least"]
    assert "Recovery pointabout 2 h" in shown["estimate"]


def test_a_canary_that_is_off_shows_why(page):
    text = _drawn(page, views.flow(canary_state="off", canary_sentence="The filter excludes it.")).text
    assert "Canary off. The filter excludes it." in text


def test_a_flow_without_a_canary_has_no_measures_of_one_and_what_offsets_know_to_be_lost(page):
    markup = _drawn(
        page,
        views.unprobed(Verdict.LOSING, lost_records=Bounds(1505, None)),
        uncontrolled="canary.mode is off",
    )
    assert "Records lost, 15 minat least 1,505" in markup.text
    for absent in ("Canary records lost", "Median", "No measurements", "Stage, newest", "none returned yet"):
        assert absent not in markup.text
    assert "none: canary.mode is off" in markup.text
    for unknown in (None, Bounds(0, None)):
        text = _drawn(page, views.unprobed(Verdict.UNKNOWN, lost_records=unknown)).text
        assert f"Records lost, 15 min{texts.NOTHING}" in text


def test_records_lost_by_canary_and_by_offsets_are_shown_with_their_periods(page):
    flow = views.flow(verdict=V.LOSING)  # 17 canary records
    for lost, shown in (
        (Bounds(0, 0), "0"),
        (Bounds(3, 5), "between 3 and 5"),
        (None, texts.NOTHING),
    ):
        text = _drawn(page, replace(flow, lost_records=lost)).text
        assert f"Canary records lost17 Records lost, 15 min{shown}" in text


def test_offsets_are_linked_only_from_flows_that_have_them(page):
    flow = views.flow()
    parts = (*flow.verdict.parts, ("lag", "No lag on 6 partitions."))
    monitored = replace(flow, verdict=replace(flow.verdict, parts=parts))
    assert "Offsets of every partition" not in _drawn(page, flow).text
    assert "Offsets of every partition" in _drawn(page, monitored).text


def test_a_topology_of_very_many_clusters_is_not_drawn(page):
    flows = [views.flow("hub", f"c{number}") for number in range(100)]
    text = _drawn(page, *flows).text
    assert "More than 100 clusters are not drawn; see the list of flows." in text
    assert "More than" not in _drawn(page, *flows[:99]).text


def test_the_evidence_of_the_verdict_stands_before_that_of_what_is_with_it(page):
    flow = views.unprobed(Verdict.LOSING, lost_records=Bounds(2, 2))
    lost = tuple(views.evidence(f"{number} was deleted unread") for number in (1, 2, 3))
    now = tuple(views.evidence(f"{number} stands") for number in (1, 2, 3))
    also = replace(views.stalled_beside_losing().verdict.also, evidence=now)
    text = _drawn(page, replace(flow, verdict=replace(flow.verdict, evidence=lost + now, also=also))).text
    shown, _, folded = text.partition("Evidence")[2].partition("3 more")
    assert [said in shown for said in ("1 was deleted", "2 was deleted", "1 stands")] == [True] * 3
    assert [said in folded for said in ("3 was deleted", "2 stands", "3 stands")] == [True] * 3


def test_an_empty_fleet_shows_what_to_do(page):
    text = _drawn(page).text
    assert "Only consumer groups are watched" in text
    assert "flows: {A->B: {}}" in text


def test_clusters_and_problems_are_next_to_the_first_line(page):
    text = _drawn(page, views.flow(), down={"B": "Connection refused"}, problems=(views.problem(),)).text
    assert "Cluster B is down. 1 problem, listed below." in text
    assert "Connection refused" in text
    assert "the principal may not create topics since 20:16:40 UTC, seen 5 times" in text


def test_what_needs_no_attention_is_small_where_there_are_many(page):
    flows = [views.flow(f"A{number}", "B") for number in range(9)] + [views.flow("C", "B", V.LATE)]
    markup = _drawn(page, *flows)
    cards = [attributes["class"] for attributes in markup.all("article")]
    assert cards[0] == "card v-late card-wide"
    assert cards[1:] == ["card v-healthy card-small"] * 9


def test_nothing_carries_a_script_or_style_of_its_own(page):
    for verdict in V:
        for tag, attributes in _drawn(page, views.flow(verdict=verdict)).elements:
            assert tag != "style"
            assert "style" not in attributes
            assert not [name for name in attributes if name.startswith("on")]
            if tag == "script":
                assert attributes["src"].startswith("/static/page.js?v=")


def test_ids_are_unique_and_references_lead_somewhere(page):
    flows = [views.flow(f"A{number}", "B", verdict) for number, verdict in enumerate(V)]
    markup = _drawn(page, *flows, problems=(views.problem(),))
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in markup.elements:
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids


def test_only_the_headline_is_announced(page):
    markup = _drawn(page, views.flow(verdict=V.LOSING))
    live = [attributes for _, attributes in markup.elements if "aria-live" in attributes]
    assert [attributes["class"] for attributes in live] == ["headline v-losing"]
    assert {"header", "main", "footer", "nav"} <= {tag for tag, _ in markup.elements}


def test_hostile_names_stay_text(page):
    flow = views.flow(
        views.HOSTILE,
        "B",
        V.LOSING,
        sentence=views.HOSTILE,
        evidence_rows=(views.evidence(views.HOSTILE, topic=views.HOSTILE),),
        losses=(views.loss(topic=views.HOSTILE),),
        canary_state=views.HOSTILE,
        canary_sentence=views.HOSTILE,
    )
    flow = replace(
        flow,
        canary_topic=views.HOSTILE,
        policy=views.HOSTILE,
        books={views.HOSTILE: 3},
        latency={views.HOSTILE: flow.latency["ack"], **flow.latency},
        verdict=replace(flow.verdict, parts=((views.HOSTILE, views.HOSTILE),)),
    )
    view = views.service(
        flow, down={views.HOSTILE: views.HOSTILE}, problems=(views.problem(views.HOSTILE, views.HOSTILE),)
    )
    view = replace(view, version=views.HOSTILE)
    for text in (page.page(view), page.fragment(view)):
        assert "<script>" not in text
        assert "\u202e" not in text
        scripts = Markup(text).all("script")
        assert [script.get("src", "")[:15] for script in scripts] in ([], ["/static/page.js"])


def test_an_anchor_is_safe_whatever_the_flow_is_called():
    for name in ("A->B", views.HOSTILE, "", "\ud800", "ä b"):
        assert re.fullmatch(r"flow-[0-9a-f]{12}", anchor(name))


def test_counters_keep_every_counter_once():
    counters = views.books(good=3) | {"new_one": 4}
    shown = [name for _, group in counter_groups(counters) for name, _ in group]
    assert sorted(shown) == sorted(counters)
    assert counter_groups({}) == ()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, texts.NOTHING),
        (float("nan"), texts.NOTHING),
        (0.0, "0.0 ms"),
        (0.00042, "0.4 ms"),
        (0.038, "38 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (1.239, "1.24 s"),
        (42.31, "42.3 s"),
        (200, "3 min 20 s"),
        (-0.002, "-2.0 ms"),
    ],
)
def test_a_latency_in_words(seconds, text):
    assert texts.latency_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, texts.NOTHING),
        (-3, "0 s"),
        (0, "0 s"),
        (0.41, "0.4 s"),
        (4.2, "4 s"),
        (42.3, "42 s"),
        (200, "3 min 20 s"),
    ],
)
def test_an_age_in_words(seconds, text):
    assert texts.age_text(seconds) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, texts.NOTHING),
        (3, 3, "100 %"),
        (1, 3, "33.33 %"),
        (99_999, 100_000, "> 99.99 %"),
        (0, 5, "0 %"),
    ],
)
def test_a_share_is_whole_only_when_nothing_is_missing(part, whole, text):
    assert texts.share_text(part, whole) == text


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (views.NOW_AT, "20:26:40 UTC"),
        (views.NOW_AT - 86_400, "27 May 20:26 UTC"),
        (views.NOW_AT - 400 * 86_400, "23 Apr 2025 20:26 UTC"),
        (1e300, texts.NOTHING),
        (float("nan"), texts.NOTHING),
    ],
)
def test_a_moment_in_words(at, text):
    assert texts.moment_text(at, views.NOW_AT) == text


def test_plain_text_steers_nothing():
    assert texts.plain("a\x1b[31mb\u202ec\nd e") == "a\ufffd[31mb\ufffdc d e"
    assert texts.plain("Zürich 東京") == "Zürich 東京"


def _luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(colour, ground, share):
    parts = [
        round(int(colour[place : place + 2], 16) * share + int(ground[place : place + 2], 16) * (1 - share))
        for place in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(page, scheme):
    blocks = re.findall(r":root \{(.*?)\}", page.static["page.css"].body.decode(), re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", blocks[scheme]))
    shade = int(re.search(r"--shade: (\d+)%", blocks[scheme])[1]) / 100
    for name in ("ink", "soft", *V):
        for ground in ("ground", "surface", "sunken"):
            grounds = [colours[ground]]
            if name in list(V):
                grounds.append(_mixed(colours[name], colours["surface"], shade))
            for behind in grounds:
                lighter, darker = sorted((_luminance(colours[name]), _luminance(behind)), reverse=True)
                assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, ground)
