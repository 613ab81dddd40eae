"""Java's properties files and regular expressions.

properties   java properties text, read as java.util.Properties.load reads it
regex        java regular expressions in Python's, or a sentence that says what cannot be carried over
regex_class  character classes and escapes of Java's regular expressions, as sets of code points
codepoints   sets of characters as sorted ranges of code points
"""
