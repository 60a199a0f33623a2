"""Foreign code in PyTorch, Keras, JAX and SciPy, from data to plot: `make examples-frameworks`."""
