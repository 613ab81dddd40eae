"""Resources of Kubernetes in a file: one, a List as kubectl prints it, or several documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEEPEST_LIST = 4


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource, and its place in its document.

    `data` has text for every scalar. `path` leads to it from the top of its document: empty, or `items` and
    a number in a List. `document` numbers the documents of the file from 0.
    """

    data: Mapping[str, Any] = field(repr=False, hash=False)
    path: tuple[str, ...] = ()
    document: int = 0

    @property
    def kind(self) -> str:
        """Return the kind, or an empty text."""
        return _text(self.data.get("kind"))

    @property
    def group(self) -> str:
        """Return the API group, such as kafka.strimzi.io; empty for Kubernetes' own resources."""
        group, slash, _version = _text(self.data.get("apiVersion")).partition("/")
        return group if slash else ""

    @property
    def name(self) -> str:
        """Return the name, or an empty text."""
        return self._metadata("name")

    @property
    def namespace(self) -> str:
        """Return the namespace, or an empty text."""
        return self._metadata("namespace")

    @property
    def title(self) -> str:
        """Return kind, namespace and name, as in `KafkaMirrorMaker2 prod/mirror`."""
        return title_of(self.kind, self.namespace, self.name)

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return the spec, or an empty mapping."""
        spec = self.data.get("spec")
        return spec if isinstance(spec, dict) else {}

    def label(self, name: str) -> str:
        """Return a label, or an empty text."""
        metadata = self.data.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        return _text(labels.get(name)) if isinstance(labels, dict) else ""

    def _metadata(self, key: str) -> str:
        metadata = self.data.get("metadata")
        return _text(metadata.get(key)) if isinstance(metadata, dict) else ""


def title_of(kind: str, namespace: str, name: str) -> str:
    """Return a resource's name in sentences."""
    place = "/".join(part for part in (namespace, name) if part)
    return f"{kind or 'a document without a kind'} {place}".strip()[:300]


def resources_in(data: Any, *, document: int = 0, path: tuple[str, ...] = ()) -> Iterator[Resource]:
    """Yield the resources of one document: those of a List, or the document itself."""
    if not isinstance(data, dict):
        return
    items = data.get("items")
    if not isinstance(items, list) or not _text(data.get("kind")).endswith("List"):
        yield Resource(data, path, document)
    elif len(path) < 2 * DEEPEST_LIST:
        for number, item in enumerate(items):
            yield from resources_in(item, document=document, path=(*path, "items", str(number)))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
