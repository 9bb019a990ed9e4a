"""Where compiled kernels come from: caches on this machine, what the package ships, or the compiler."""
