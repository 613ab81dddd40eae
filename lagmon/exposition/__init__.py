"""Large families of series for `/metrics`, written from arrays.

families     the large families of `/metrics`
family       one large family of series
format       how a family of series is written down, but for its values
compression  one gzip member made of parts that were compressed apart, by different processes
joining      one answer of `/metrics`: the client library's part, then the large families
once         a family of series that is written at once and as a whole, by whoever has all of it
texts        texts that many series share, each written once and kept for as long as a series uses it
values       values of a family of series as the text formats have them, for whole arrays at once
telling      all families of groups and mirrors, with their values at one instant
slots        series of groups by topic and by partition, and the rows that each is made from
mirrors      families of mirrors
commits      series of where commits come from, and of the reading progress
"""
