"""Stored history: incidents, minutes, budgets; and reports, rules and exclusions.

incident_keeping  samples, stores and reads incidents
incident_samples  samples for incidents
minute_keeping    stores the state of each flow for each minute
budget_keeping    error budgets for `/metrics`
tallying          reads the counts of objectives from the store
made_store        opens the store if the service has made it
excluding         exclusions in the store
reporting         makes a report from the store, compares it with Prometheus
replaying         replays alerts over the minutes in the store
suggesting        suggests targets of objectives
openslo_files     objectives as OpenSLO v1 files
rendering         the files that `render` writes
"""
