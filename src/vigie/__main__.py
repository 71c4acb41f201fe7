"""Lets `python -m vigie` run the commands."""

import sys

from vigie.cli import main

sys.exit(main())
