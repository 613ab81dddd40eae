"""The tasks of a mirror, from its worker.

worker          take in the two topics of the worker: task states and assignments
states          the states of tasks
assignments     which task is assigned to which partitions
assigned_tasks  the same for a flow, checked against the movement of partitions
"""
