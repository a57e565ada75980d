"""warm_client.py SOCKET: the adapter, as far as kvconform can tell; a child of warm_server.py does the work on its
descriptors."""

import socket
import sys


def main() -> int:
    """Returns what the child returned."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    socket.send_fds(connection, [b"k"], [0, 1, 2])
    status = connection.recv(1)
    return status[0] if status else 70


if __name__ == "__main__":
    sys.exit(main())
