"""Arrays and tables that hold many rows in little memory.

growing       arrays with a row for each of what is held, which grow
kinds         types of arrays, by what they hold
packed        columns of whole numbers in as little memory as holds them exactly
near_numbers  a table of whole numbers of which those of a row lie near each other
key_index     numbers by key, for keys that come in thousands
place_rows    rows of arrays by place
group_id      what stands for a group's name where there is no room for it
java_hash     in which partition of `__consumer_offsets` a group's commits stand
"""
