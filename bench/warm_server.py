"""warm_server.py SOCKET ADAPTERS: keeps torch imported, and makes an adapter of transformers from it for whoever asks.

Most of the time of a short run goes into importing torch. This process imports it once, and all that transformers'
caches need but themselves; for each client (warm_client.py) it forks, and the child, which speaks the adapter
protocol on the descriptors that the client sent, imports the caches as they are then. A child whose client is gone
is killed. It ends when its own standard input does.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import selectors
import signal
import socket
import sys
from typing import NoReturn

MODULE = "transformers.cache_utils"
MEMORY = 8 << 30
"""Of the data of a child, in bytes: its client, which kvconform watches, is another process."""


def warm() -> None:
    """Import everything but the caches, and what holds one of their classes."""
    importlib.import_module("kvconform_adapter.transformers_subject").TransformersSubject()
    for name, module in list(sys.modules.items()):
        package = name.split(".")[0]
        if package not in ("transformers", "kvconform_adapter") or name == "transformers":
            continue
        held = [getattr(value, "__module__", None) for value in vars(module).values() if isinstance(value, type)]
        if package == "kvconform_adapter" or name == MODULE or MODULE in held:
            del sys.modules[name]
            above, _, last = name.rpartition(".")
            if above in sys.modules:
                vars(sys.modules[above]).pop(last, None)


def be_adapter(descriptors: list[int]) -> NoReturn:
    """In the child: serve on these descriptors, to the end."""
    status = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        adapter = importlib.import_module("kvconform_adapter.__main__")
        status = adapter.main(["transformers"])
    except BaseException as error:  # nothing of the child may go on in the code of the server
        os.write(2, f"warm adapter: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


class Server:
    """Clients by their children."""

    def __init__(self, path: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(16)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(0, selectors.EVENT_READ)
        # A child's end wakes the loop.
        self.ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.selector.register(self.ended, selectors.EVENT_READ)
        self.client: dict[int, socket.socket] = {}

    def accept(self) -> None:
        """A client: its three descriptors come with its first byte."""
        connection, _ = self.listener.accept()
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
        if len(descriptors) != 3:
            connection.close()
            return
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            # What tells the server that it is to end, and others' clients that theirs is gone, must not stay open here.
            for other in (self.listener, connection, *self.client.values()):
                other.close()
            be_adapter(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self.client[child] = connection
        self.selector.register(connection, selectors.EVENT_READ, child)

    def gone(self, child: int) -> None:
        """Its client hung up or was killed."""
        os.kill(child, signal.SIGKILL)
        self.selector.unregister(self.client[child])

    def reap(self) -> None:
        """Tell the clients of the children that ended how they did."""
        while self.client:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                break
            connection = self.client.pop(child)
            if connection.fileno() in self.selector.get_map():
                self.selector.unregister(connection)
            code = os.waitstatus_to_exitcode(status)
            # One that did not wait is told nothing.
            with contextlib.suppress(OSError):
                connection.send(bytes([code if code >= 0 else 128 - code]))
            connection.close()

    def serve(self) -> None:
        """Until standard input ends."""
        while True:
            for key, _ in self.selector.select():
                if key.fd == 0:
                    return
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fd == self.ended:
                    os.read(self.ended, 4096)
                elif key.data in self.client:
                    self.gone(key.data)
            self.reap()


def main() -> int:
    """Says `ready` when everything is imported."""
    path, adapters = sys.argv[1:]
    sys.path.insert(0, adapters)
    warm()
    server = Server(path)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        server.serve()
    finally:
        for child in server.client:
            os.kill(child, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
