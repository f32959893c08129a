// One child process that checks and processes, from its start to its end.

import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FromWorker, ToWorker } from './messages.js'

export interface WorkerProcess {
  readonly pid: number | undefined
  /** In order. What cannot be sent any more is dropped; a socket is closed then. */
  post(message: ToWorker, socket?: Socket): void
  /** At once (SIGKILL); onExit follows. */
  kill(): void
}

export interface WorkerProcessOptions {
  /** The compiled program. */
  readonly program: URL
  /** Of the file that is to be COUNTERS_FD there. */
  readonly counters: number
  onMessage(message: FromWorker): void
  /** Once. why: a sentence for the log. */
  onExit(why: string): void
}

export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  // Its standard output is nobody's: that of the main process is kept for results.
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
