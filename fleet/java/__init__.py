"""Java's properties files and regular expressions.

properties   Java properties text, read as java.util.Properties.load does
regex        Java regular expressions as Python's
regex_class  character classes and escapes of Java's regular expressions
codepoints   sets of characters as sorted ranges of code points
"""
