// A real MCP server (@modelcontextprotocol/server-everything, streamable HTTP) as a child process on loopback.

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'

export interface McpServer {
  readonly host: string
  readonly port: number
  close(): Promise<void>
  /** Without waiting for its end. */
  kill(): void
}

/** The server listens on every interface and its port is not known before: this makes it loopback and tells the port. */
const LOOPBACK = `
  import net from 'node:net'
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (port, ready) {
    this.once('listening', () => globalThis.process.send({ port: this.address().port }))
    return listen.call(this, Number(port), '127.0.0.1', ready)
  }
  globalThis.process.once('disconnect', () => globalThis.process.exit())`

/** port: 0 or absent for a free one. Rejects when it does not come up, e.g. because the port is taken. */
export async function startMcpServer(port = 0): Promise<McpServer> {
  const require = createRequire(import.meta.url)
  const program = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const child = fork(program, ['streamableHttp'], {
    env: { PORT: String(port) },
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(LOOPBACK)}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  return {
    host: '127.0.0.1',
    port: await listening(child),
    close: () => stop(child),
    kill: () => child.kill('SIGKILL'),
  }
}

function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port))
    child.once('error', reject)
    child.once('exit', () => reject(new Error('the MCP server did not start')))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
