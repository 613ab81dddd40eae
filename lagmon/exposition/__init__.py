"""Large families of series for `/metrics`, written from arrays.

families     several families with a counter of capped series
family       one large family of series
format       labels and headers in Prometheus' two text formats
compression  one gzip member from parts that different processes compressed
joining      one answer of `/metrics`: the client library's part, then the large families
once         a family of series that is written at once, without arrays
texts        texts that many series share
values       values of a family as text, for whole arrays
lag_metrics  all families of groups and mirrors, with their values
slots        series of groups by topic and by partition
mirrors      families of mirrors
commits      series about the source of commits and the reading progress
"""
