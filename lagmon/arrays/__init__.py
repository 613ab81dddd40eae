"""Arrays and tables that hold many rows in little memory.

growing       arrays that grow
kinds         type aliases of arrays
packed        columns of whole numbers, compressed without loss
near_numbers  a table of whole numbers that are close to each other within a row
key_index     numbers by key, for thousands of keys at a time
place_rows    rows of arrays by place
group_id      a short id of a group's name
java_hash     the partition of `__consumer_offsets` that holds a group's commits
"""
