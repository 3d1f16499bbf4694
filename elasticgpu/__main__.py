"""`python -m elasticgpu`."""

from elasticgpu.cli.main import main

if __name__ == "__main__":
    main()
