"""The command line: one module for each group of commands.

main           `mirrorwatch check`, `run`, `status`, `help`, `version`
commands       how commands are found and how they fail
options        types of options that several commands have
surroundings   shared parts of commands: log options, configuration, console
annotate       `mirrorwatch annotate`
checksum       `mirrorwatch checksum plan|run|digest|compare`
drill          `mirrorwatch drill`
drift          `mirrorwatch drift`
exclude        `mirrorwatch exclude`
failover       `mirrorwatch failover`
migrate        `mirrorwatch migrate export|plan|verify`
objectives     `mirrorwatch objectives`
render         `mirrorwatch render`
offsets        `mirrorwatch offsets translate|export|reset|apply`
report         `mirrorwatch report`
status         `mirrorwatch status`
status_answer  the documents that `mirrorwatch status` reads
status_table   output of `mirrorwatch status`
status_watch   `mirrorwatch status --watch`
trace          `mirrorwatch trace`
"""
