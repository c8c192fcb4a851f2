# SPDX-License-Identifier: GPL-2.0-only
"""
Many connections that always have data to send. Each end is a separate process, this file given to python3:

    busy.py receive ADDRESS              prints its port, then reads until all connections have ended
    busy.py send ADDRESS PORT CC COUNT   prints "busy" when all are connected; sends until its stdin is closed
"""
import contextlib
import resource
import select
import socket
import subprocess
import sys

BLOCK = bytes(1 << 16)
READ_AT_ONCE = 1 << 15


def receive(address):
    # The listener keeps the default: only the connecting side uses the watched congestion control.
    listener = socket.create_server((address, 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    poll, peers = select.epoll(), {listener.fileno(): listener}
    poll.register(listener, select.EPOLLIN)
    buffer = bytearray(1 << 18)
    seen = False
    while len(peers) > 1 or not seen:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                peer = listener.accept()[0]
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, READ_AT_ONCE)
                peers[peer.fileno()] = peer
                poll.register(peer, select.EPOLLIN)
                seen = True
            elif not peers[fd].recv_into(buffer):
                poll.unregister(fd)
                peers.pop(fd).close()


def send(address, port, cc, count):
    poll, socks = select.epoll(), {}
    for _ in range(int(count)):
        sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        sock.connect((address, int(port)))
        sock.setblocking(False)
        socks[sock.fileno()] = sock
        poll.register(sock, select.EPOLLOUT)
    print("busy", flush=True)
    poll.register(sys.stdin, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == sys.stdin.fileno():
                return
            try:
                socks[fd].send(BLOCK)
            except BlockingIOError:
                pass


@contextlib.contextmanager
def busy_connections(link, cc, count):
    """
    count connections that always have data to send. Their speed follows from cc's max_pacing_rate: 300 kbit/s is
    about 26 packets a second, and a round trip for every second packet.
    """
    sender, receiver = link.ends
    sender.ip("link", "set", link.names[0], "gso_max_segs", "1")  # otherwise there would be bursts now and then
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        def start(ns, *args):
            process = ns.popen(sys.executable, __file__, *args, **pipes)
            stack.callback(end, process)
            return process
        server = start(receiver, "receive", link.v4[1])
        client = start(sender, "send", link.v4[1], server.stdout.readline().strip(), cc, count)
        assert client.stdout.readline() == "busy\n"
        yield


def end(process):
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    {"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
