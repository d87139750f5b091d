"""Results made visible: tables, plots, pages."""
