// Stacks that the files of a worker use one after the other: to start Gatehouse is half of the work of most of them.

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { StatusReport } from '../../src/ops/admin/status-report.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { accepts, isNamedIn } from './listening.js'
import { endWithTheTests } from './shared-processes.js'
import type { Stack, StackOptions } from './stack.js'

/** Those that nobody uses now. */
const free: Stack[] = []

/** How long a stack may take to let go of what its last user had. */
const EMPTY_MS = 20_000

/**
 * Returns a stack that serves the resources: a free one, or one that start() makes. Its log begins now; close() gives it
 * back, without resources.
 */
export async function ofThisWorker(
  options: StackOptions,
  start: (options: StackOptions) => Promise<Stack>,
): Promise<Stack> {
  const old = free.pop()
  if (old !== undefined) return serving(old, options)
  const stack = await start(options)
  await unref(stack)
  return lent(stack, stack)
}

async function serving(stack: Stack, { resources }: StackOptions): Promise<Stack> {
  const port = await freePort()
  const lease = lent(stack, { port, origin: `http://127.0.0.1:${String(port)}` })
  const documents = resources(port)
  await stack.write('resources.yaml', ...documents)
  await eventually(async () => {
    const report = await stack.report()
    if (report.resources.length === 0) throw new Error('the resources are not read yet')
    haveSettled(report)
    if (isNamedIn(documents, port)) await accepts(port)
  })
  return lease
}

/** The stack as one file sees it. */
function lent(stack: Stack, place: Pick<Stack, 'port' | 'origin'>): Stack {
  const [log, output] = [stack.log().length, stack.output().length]
  const refuse = (): never => {
    throw new Error('other files use this Gatehouse too: start one with { own: true }')
  }
  return {
    ...stack,
    port: place.port,
    origin: place.origin,
    log: () => stack.log().slice(log),
    output: () => stack.output().slice(output),
    ended: refuse,
    stop: refuse,
    close: () => giveBack(stack),
  }
}

/** Takes the resources away. A stack that does not let go of them is stopped. */
async function giveBack(stack: Stack): Promise<void> {
  try {
    for (const file of await readdir(stack.folder))
      await rm(join(stack.folder, file), { recursive: true })
    await eventually(async () => {
      const report = await stack.report()
      if (report.resources.length > 0) throw new Error('it still has resources')
      haveSettled(report)
    }, EMPTY_MS)
    free.push(stack)
  } catch {
    await stack.close()
  }
}

/** Throws while an Envoy has not answered what it was sent, or a document has not been fetched once. */
function haveSettled({ envoys, remote }: StatusReport): void {
  for (const { connected, types } of envoys)
    for (const { type, sent, acked, nacked } of connected ? types : [])
      if (sent !== acked && sent !== nacked?.version)
        throw new Error(`Envoy has not answered ${type} yet`)
  for (const { url, fetchedAt, error } of remote)
    if (fetchedAt === undefined && error === undefined) throw new Error(`${url} is being fetched`)
}

/** Lets this worker end while the stack runs, and the stack with it. */
async function unref({ child, folder }: Stack): Promise<void> {
  if (child.pid === undefined) throw new Error('it has not started')
  await endWithTheTests(child.pid, folder)
  child.unref()
  for (const stream of [child.stdout, child.stderr])
    (stream as { unref?: () => void } | null)?.unref?.()
  process.once('exit', () => child.kill())
}
