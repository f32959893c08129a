// Runs a Node program that is an HTTP server as a child process on loopback that does not outlive this process.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A running program. */
export interface Program {
  readonly host: string
  readonly port: number
  close(): Promise<void>
  /** Kills the program without waiting for its end. */
  kill(): void
}

/** What a program is started with. */
export interface ProgramStart {
  /** Name of the program in messages. */
  readonly name: string
  /** Path of its JavaScript file. */
  readonly file: string
  readonly args?: readonly string[]
  /** Port, passed in the variable PORT; 0: any free one. */
  readonly port: number
}

const HOST = '127.0.0.1'

/** Module that makes the program listen on loopback, whatever it asks for, and report its port. */
const LOOPBACK = `
  import net from 'node:net'
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (port, ...rest) {
    this.once('listening', () => globalThis.process.send({ port: this.address().port }))
    return listen.call(this, Number(port), '${HOST}', rest.at(-1))
  }
  globalThis.process.once('disconnect', () => globalThis.process.exit())`

/** Rejects when it does not start, e.g. because the port is in use. */
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
