"""From a compiled plan and a DataFrame to matches: programs, Numba kernels and the grouped-map operator."""
