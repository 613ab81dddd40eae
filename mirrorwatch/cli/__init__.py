"""The command line: one module for each group of commands.

main           the command line
commands       how commands are found and how they fail
surroundings   what commands have in common
annotate       the command `mirrorwatch annotate`
checksum       the commands `mirrorwatch checksum plan|run|digest|compare`
exclude        the command `mirrorwatch exclude`
objectives     the commands `mirrorwatch objectives`
render         the command `mirrorwatch render`
report         the command `mirrorwatch report`
status         `mirrorwatch status`
status_answer  the documents of /api/v1 as `mirrorwatch status` reads them
status_table   what `mirrorwatch status` prints
status_watch   `mirrorwatch status --watch`
told_values    values of a JSON document that others made
"""
