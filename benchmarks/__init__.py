"""What llgrad is measured against: the same C, compiled by clang and differentiated by Enzyme."""
