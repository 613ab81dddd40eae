"""Results of a run: printed, written to files, posted to a service.

result     the output of `checksum run` and `compare`
outlets    HTML page and service, besides the terminal and `--json`
files      result files, written completely or not at all
reporting  report a run to a running service
"""
