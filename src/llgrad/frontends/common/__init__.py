"""What all frontends share: compilers found, asked, run."""
