"""Small mirrors as programs of their own, of the kinds that MirrorMaker 2 is not."""
