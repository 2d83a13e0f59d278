#!/bin/sh
# Connections, keys and logs belong to the person, not to the package.
case "$1" in
  remove | purge | 0)
    echo "OmniRoute is removed. Its data stays in ~/.local/share/app.omniroute.desktop of each user; delete that folder to forget everything."
    ;;
esac
