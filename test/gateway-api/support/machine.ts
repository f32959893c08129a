// Sets up a machine's network for pods: a bridge, and a network namespace with an address for each pod.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

const BRIDGE = '10.250.0.1'

export interface Sandbox {
  readonly address: string
  /**
   * Runs a program in the sandbox. It ends with the sandbox.
   * @param onLine is called with each line of its output.
   */
  run(program: Program, onLine: (line: string) => void): void
  close(): void
}

export interface Program {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** File for its output. */
  readonly log: string
}

export interface Machine {
  sandbox(): Promise<Sandbox>
  close(): void
}

/**
 * Creates the bridge in the network namespace of this process. Programs and sandboxes end with this process; the bridge and
 * the links of the pods end with `close`, as test files share the network namespace.
 */
export function createMachine(): Machine {
  ip('link', 'add', 'pods', 'type', 'bridge')
  ip('address', 'add', `${BRIDGE}/16`, 'dev', 'pods')
  ip('link', 'set', 'pods', 'up')
  const open = new Set<Sandbox>()
  let count = 0
  return {
    sandbox: async () => {
      count += 1
      const address = `10.250.${String(1 + Math.floor(count / 200))}.${String(1 + (count % 200))}`
      const sandbox = await createSandbox(`pod${String(count)}`, address)
      const close = (): void => {
        open.delete(own)
        sandbox.close()
      }
      const own = { ...sandbox, close }
      open.add(own)
      return own
    },
    close: () => {
      for (const sandbox of open) sandbox.close()
      ip('link', 'delete', 'pods')
    },
  }
}

/** Keeps a network namespace open until stdin ends, like the pause container of a pod. */
const PAUSE = ['-n', 'sh', '-c', 'echo ready; exec cat']

async function createSandbox(name: string, address: string): Promise<Sandbox> {
  const pause = spawn('unshare', PAUSE, { stdio: ['pipe', 'pipe', 'ignore'] })
  await once(pause.stdout, 'data')
  const namespace = String(pause.pid)
  const within = (...args: readonly string[]): void => {
    execFileSync('nsenter', ['-t', namespace, '-n', 'ip', ...args])
  }
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
  ip('link', 'set', name, 'master', 'pods', 'up')
  within('address', 'add', `${address}/16`, 'dev', 'eth0')
  within('link', 'set', 'lo', 'up')
  within('link', 'set', 'eth0', 'up')
  within('route', 'add', 'default', 'via', BRIDGE)
  const children: ChildProcess[] = []
  return {
    address,
    run: ({ command, env, log }, onLine) => {
      const tied = ['-t', namespace, '-n', 'sh', '-c', TIED, 'sh', ...command]
      const child = spawn('nsenter', tied, {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
      })
      const file = createWriteStream(log)
      for (const stream of [child.stdout, child.stderr])
        createInterface(stream).on('line', (line) => {
          file.write(`${line}\n`)
          onLine(line)
        })
      children.push(child)
    },
    close: () => {
      for (const { stdin } of children) stdin?.end()
      ip('link', 'delete', name)
      pause.stdin.end()
    },
  }
}

/** A shell script that runs its arguments until its stdin ends. */
const TIED = '"$@" & cat; kill -9 $!; wait'

function ip(...args: readonly string[]): void {
  execFileSync('ip', args)
}
