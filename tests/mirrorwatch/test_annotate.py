"""`mirrorwatch annotate`: a person's note on an incident, in the store of a configuration."""

from __future__ import annotations

import asyncio

from click.testing import CliRunner

from alerts import incident_tables
from alerts.incidents import Recorder
from mirrorwatch.cli.main import cli
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.address import resolve_address
from runtime.store.store import Store
from tests.alerts.incidents import FLOW, START, sample

CONFIG = "clusters: {A: {bootstrap.servers: 'a:9092'}, B: {bootstrap.servers: 'b:9092'}}\nflows: {A->B: {}}\n"


def _store(folder):
    return Store(resolve_address("sqlite:///mirrorwatch.db", folder), migrations=MIGRATIONS)


def _made(folder):
    (folder / "mw.yaml").write_text(CONFIG)
    recorder = Recorder("one")
    recorder.note(sample(0, "late"))

    async def make():
        store = _store(folder)
        await store.open()
        batches = {FLOW: recorder.take()}
        (one,) = await store.write(lambda c: incident_tables.keep(c, batches, observer="one", now_at=START))
        await store.close()
        return one.incident

    return asyncio.run(make())


def _annotate(folder, *arguments):
    return CliRunner().invoke(cli, ["annotate", str(folder / "mw.yaml"), *arguments], standalone_mode=False)


def test_a_note_is_written(tmp_path):
    name = _made(tmp_path)
    done = _annotate(tmp_path, name, "--author", "Ada", "--text", " the worker <b>ran</b> out of memory ")
    assert (done.exception, done.return_value) == (None, 0)
    assert done.output == f"Note added to incident {name}.\n"

    async def read():
        store = _store(tmp_path)
        await store.open()
        found = await store.read(lambda c: incident_tables.incident_of(c, name))
        await store.close()
        return found.notes

    (note,) = asyncio.run(read())
    assert (note.author, note.text) == ("Ada", "the worker <b>ran</b> out of memory")


def test_bytes_that_are_not_utf_8_are_refused_in_a_sentence(tmp_path):
    name = _made(tmp_path)
    for incident, author, text in ((name, "Ada", "caf\udce9"), (name, "\udce9", "a"), ("\udce9", "Ada", "a")):
        refused = _annotate(tmp_path, incident, "--author", author, "--text", text)
        assert "invalid text: not UTF-8; write it in UTF-8" in str(refused.exception)


def test_an_unknown_incident_and_an_empty_note_are_refused(tmp_path):
    name = _made(tmp_path)
    unknown = _annotate(tmp_path, "none", "--author", "Ada", "--text", "x")
    assert "incident 'none': unknown in the store" in unknown.exception.message
    assert unknown.exception.exit_code == 2
    empty = _annotate(tmp_path, name, "--author", "Ada", "--text", "  ")
    assert "empty" in empty.exception.message
