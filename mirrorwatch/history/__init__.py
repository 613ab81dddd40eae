"""What is kept over time: incidents, minutes, budgets; and the reports, rules and exclusions made of it.

incident_keeping  incidents and history of the service
incident_samples  what incidents are made of
minute_keeping    what each flow was like in each minute goes into the store
budget_keeping    how much of each error budget is left, kept up to date for `/metrics`
tallying          read what objectives of one flow count, from the store
excluding         exclusions in the store of a configuration
reporting         make a report from the store of a configuration
reconciling       ask Prometheus for the same SLI as a report has
replaying         replay the alerts of a configuration over the minutes in its store
suggesting        suggest targets of objectives from the store of a configuration
openslo_files     objectives as files of OpenSLO v1
rendering         the files that `render` writes
"""
