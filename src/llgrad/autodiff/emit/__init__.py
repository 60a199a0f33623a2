"""What generated code is made of: tape, shadows' helpers, lanes, alias scopes, rule expressions, checks."""
