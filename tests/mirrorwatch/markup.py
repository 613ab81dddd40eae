"""Markup read strictly, for tests of pages."""

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


class Markup(HTMLParser):
    """Reads a document strictly: every element is closed in order, and what it holds is remembered."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
