// Starts a worker as a child process, and exchanges messages with it.

import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FromWorker, ToWorker } from './messages.js'

/** A running worker. */
export interface WorkerProcess {
  readonly pid: number | undefined
  /** Sends messages in order. If the worker has ended, or ends before it gets the message, closes the socket. */
  post(message: ToWorker, socket?: Socket): void
  /** Kills it immediately (SIGKILL); onExit follows. */
  kill(): void
}

/** What a worker is started with. */
export interface WorkerProcessOptions {
  /** The compiled program. */
  readonly program: URL
  /** Descriptor of the file that becomes COUNTERS_FD in the worker. */
  readonly counters: number
  onMessage(message: FromWorker): void
  /** Called once when the worker has ended. why: a sentence for the log. */
  onExit(why: string): void
}

/** Starts a worker. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  // A worker writes nothing to its standard output but the decision log, where the operator wants it there.
  const child = fork(fileURLToPath(options.program), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', options.counters],
  })
  // Sockets that have not been sent. Node sends one at a time and forgets the others when the worker ends.
  const waiting = new Set<Socket>()
  let isOver = false
  const end = (why: string): void => {
    if (isOver) return
    isOver = true
    for (const socket of waiting) socket.destroy()
    options.onExit(why)
  }
  child.on('message', (message) => options.onMessage(message as FromWorker))
  child.once('error', (error) => {
    child.kill('SIGKILL')
    end(error.message)
  })
  child.once('exit', (code, signal) =>
    end(signal === null ? `exit code ${String(code)}` : `killed by ${signal}`),
  )
  return {
    pid: child.pid,
    post(message, socket) {
      if (!child.connected) return void socket?.destroy()
      if (socket !== undefined) waiting.add(socket)
      // This process keeps its copy of a socket until it is sent. What the worker does not take by its end, the kernel closes.
      child.send(message, socket, { keepOpen: true }, () => {
        if (socket !== undefined && waiting.delete(socket)) socket.destroy()
      })
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
