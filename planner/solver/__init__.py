"""From a problem to the best placement found and a proven bound; the only bridge to the models."""
