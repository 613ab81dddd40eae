"""What came of a run: printed, written to files, posted to a service.

result   what `checksum run` and `compare` print
outlets  where a run's result goes beside the terminal and `--json`
files    files that a command writes what it found to
telling  post the result of a run to a running service
"""
