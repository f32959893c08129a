// Starts and stops child processes, finds free ports, and waits for conditions.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'

/** Root folder of the repository. */
export const root = join(import.meta.dirname, '..')

export interface Party {
  readonly child: ChildProcess
  readonly pid: number
}

/** @param stderr inherited, unless the caller reads it. */
export function run(
  program: string,
  args: readonly string[],
  stderr: 'inherit' | 'pipe' = 'inherit',
): Party {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', stderr] })
  if (child.pid === undefined) throw new Error(`${program} did not start`)
  return { child, pid: child.pid }
}

/** Starts a script of this folder and waits for its first output. */
export async function runScript(name: string, args: readonly string[]): Promise<Party> {
  const party = run(process.execPath, [join(root, `.cache/bench/${name}.mjs`), ...args])
  await once(party.child.stdout ?? party.child, 'data')
  return party
}

/** Starts a program and waits for its first output. Returns undefined without a path. */
export async function runProgram(
  path: string | undefined,
  args: readonly string[],
): Promise<Party | undefined> {
  if (path === undefined) return undefined
  const party = run(path, args)
  await once(party.child.stdout ?? party.child, 'data')
  return party
}

export async function stop(parties: readonly Party[]): Promise<void> {
  for (const { child } of parties) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}

/** Waits until the URL answers. It is asked seldom enough that the server's start takes no longer for it. */
export const until = (url: string, timeoutMs = 20_000): Promise<void> =>
  untilHolds(async () => (await fetch(url)).ok, timeoutMs, `${url} is ready`, 25)

/**
 * Waits until the condition holds. A condition that throws does not hold.
 * @param what names the condition in the timeout error, which also has the last error that the condition threw.
 * @param intervalMs between two looks at the condition.
 */
export async function untilHolds(
  condition: () => Promise<boolean>,
  timeoutMs: number,
  what: string,
  intervalMs = 5,
): Promise<void> {
  const end = performance.now() + timeoutMs
  let cause: unknown
  const thrown = (error: unknown): false => {
    cause = error
    return false
  }
  while (!(await condition().catch(thrown))) {
    if (performance.now() > end)
      throw new Error(`waited ${String(timeoutMs)} ms in vain until ${what}`, { cause })
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Returns a free port for each name. */
export async function freePorts<Name extends string>(
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const entries = await Promise.all(names.map(async (name) => [name, await freePort()] as const))
  return Object.fromEntries(entries) as Record<Name, number>
}
