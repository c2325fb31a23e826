# Sourced by deploy/up and deploy/test: sets $python to one that can run askmesh, or ends.
# PYTHON names one outright. One that is new enough but lacks `venv` or `ensurepip` is
# the second choice: deploy/environment.py then says what to install for it.

has() { # PYTHON, then the modules it must have
    candidate=$1
    shift
    "$candidate" -I -c '
import sys
for name in sys.argv[1:]:
    __import__(name)
sys.exit(sys.version_info < (3, 11))' "$@" >/dev/null 2>&1
}

python=
candidates=${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}
for name in $candidates; do
    if has "$name" venv ensurepip; then
        python=$name
        break
    fi
done
for name in $candidates; do
    if [ -z "$python" ] && has "$name"; then
        python=$name
    fi
done
if [ -z "$python" ]; then
    {
        echo "askmesh needs Python 3.11 or newer; none of these is: $candidates."
        echo "  Debian, Ubuntu: apt install python3 python3-venv"
        echo "  Fedora:         dnf install python3"
        echo "  macOS:          brew install python"
        echo "With another Python beside the system's: PYTHON=/path/to/python3.12 $0"
    } >&2
    exit 1
fi
