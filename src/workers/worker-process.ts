// Starts a worker as a child process, and exchanges messages with it.

import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FromWorker, ToWorker } from './messages.js'

export interface WorkerProcess {
  readonly pid: number | undefined
  /** Sends messages in order. If that is no longer possible, drops the message and closes the socket. */
  post(message: ToWorker, socket?: Socket): void
  /** Kills it immediately (SIGKILL); onExit follows. */
  kill(): void
}

export interface WorkerProcessOptions {
  /** The compiled program. */
  readonly program: URL
  /** Descriptor of the file that becomes COUNTERS_FD in the worker. */
  readonly counters: number
  onMessage(message: FromWorker): void
  /** Called once when the worker has ended. why: a sentence for the log. */
  onExit(why: string): void
}

export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  // The worker's standard output is discarded: that of the main process is reserved for results.
  const child = fork(fileURLToPath(options.program), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', options.counters],
  })
  let isOver = false
  const end = (why: string): void => {
    if (isOver) return
    isOver = true
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
      const failed = (error: Error | null): void => {
        if (error !== null) socket?.destroy()
      }
      if (!child.connected) return failed(new Error('the worker is gone'))
      child.send(message, socket, {}, failed)
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
