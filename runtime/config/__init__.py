"""The sections `http` and `store`, strict YAML, values and problems of a configuration.

sections       the sections `http` and `store` of the configuration
problems       turn what pydantic found into our sentences
values         the kinds of values that a configuration holds
web            the file that `http.web_config_file` names
interpolation  `${env:NAME}` and `${file:PATH}` in the values of a configuration
strict_yaml    YAML without its surprises
yaml_output    write documents as YAML that people read and compare
"""
