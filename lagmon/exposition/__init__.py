"""Large families of series for `/metrics`, written from arrays.

families     what `/metrics` tells of groups and mirrors
family       one large family of series
format       how a family of series is written down, but for its values
compression  one gzip member made of parts that were compressed apart, by different processes
joining      one answer of `/metrics` from what the client library tells and the large families after it
once         a family of series that is written at once and as a whole, by whoever has all of it
texts        texts that many series share, each written once and kept for as long as a series uses it
values       values of a family of series as the text formats have them, for whole arrays at once
telling      what `/metrics` tells of groups and mirrors
slots        the series of groups by topic and by partition, and from which slots of a cluster each is told
mirrors      what `/metrics` tells of mirrors
commits      what `/metrics` tells of where commits come from, and of how far reading them has come
"""
