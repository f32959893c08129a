// A Node program that is an HTTP server, as a child process on loopback that does not outlive this one.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export interface Program {
  readonly host: string
  readonly port: number
  close(): Promise<void>
  /** Without waiting for its end. */
  kill(): void
}

export interface ProgramStart {
  /** For messages. */
  readonly name: string
  /** The path of its JavaScript file. */
  readonly file: string
  readonly args?: readonly string[]
  /** It reads its port in the variable PORT; 0: any that is free. */
  readonly port: number
}

const HOST = '127.0.0.1'

/** Wherever the program wants to listen and on whatever port: this makes it loopback and tells the port. */
const LOOPBACK = `
  import net from 'node:net'
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (port, ...rest) {
    this.once('listening', () => globalThis.process.send({ port: this.address().port }))
    return listen.call(this, Number(port), '${HOST}', rest.at(-1))
  }
  globalThis.process.once('disconnect', () => globalThis.process.exit())`

/** Rejects when it does not come up, e.g. because the port is taken. */
export async function startProgram({ name, file, args, port }: ProgramStart): Promise<Program> {
  const child = fork(file, args ?? [], {
    env: { PORT: String(port) },
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(LOOPBACK)}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  return {
    host: HOST,
    port: await listening(child, name),
    close: () => stop(child),
    kill: () => child.kill('SIGKILL'),
  }
}

function listening(child: ChildProcess, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port))
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the ${name} did not start`)))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
