import sys

from cdevice.cli import main

if __name__ == "__main__":
    sys.exit(main())
