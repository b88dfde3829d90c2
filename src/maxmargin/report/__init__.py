"""One self-contained page about a training run."""
