"""Sections `http` and `store`, strict YAML, values and problems of a configuration.

strict_yaml    YAML reader: mappings, lists and text, with line numbers
interpolation  `${env:NAME}` and `${file:PATH}` in values
values         types of values: durations, sizes, flags and others
sections       sections `http` and `store`
web            the file of `http.web_config_file`
problems       turns pydantic's errors into sentences
yaml_output    YAML writer
documents      JSON files that one command writes and another reads
"""
