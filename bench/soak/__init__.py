"""A long run of two replicas under rolling faults: verdicts, memory and counters, all judged at the end.

- `run`: the whole run, from the start of the processes to the result
- `faults`: the faults, and the verdicts that each one may cause (pure)
- `schedule`: which fault comes when, from a seed (pure)
- `judging`: false verdicts and missed faults, from what was logged (pure)
- `slopes`: whether memory and descriptors are flat (pure)
- `result`: the result as a document, and whether it passes (pure)
- `page`: the result as a table in Markdown (pure)
- `stack`: the processes
- `acts`: how each fault starts and ends
- `following`: verdicts and events from the logs of both replicas
- `measuring`: processes, tables of the store, scrapes and pages
- `scrape`: one answer of /metrics (pure)
- `truth`: counters, applications' records and groups, compared with the topics
"""
