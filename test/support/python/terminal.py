"""Runs a command on a pseudo-terminal and copies what the terminal gets to stdout.

Usage: terminal.py COLUMNS ROWS COMMAND...; stderr of the command goes to the file that LOG names.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

columns, rows, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    # The parent sets the size of the terminal before it writes a line.
    sys.stdin.readline()
    log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.execvp(command[0], command)

fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
# Python runs handlers between its own steps: a signal that comes just before a read would wait for the end of it.
signalled, wakeup = os.pipe()
os.set_blocking(wakeup, False)
signal.set_wakeup_fd(wakeup)
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
os.write(terminal, b"\n")
while True:
    ready, _, _ = select.select([terminal, signalled], [], [])
    if signalled in ready:
        os.read(signalled, 1)
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:  # Linux reports the end of a terminal as EIO.
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
