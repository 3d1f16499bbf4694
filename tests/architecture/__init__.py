"""What the project promises about itself: layers, generated files, public names."""
