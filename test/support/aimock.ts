// Runs aimock, a third-party LLM server, as a process. Fixtures define its answers; its journal records requests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { FixtureFileEntry, JournalEntry } from '@copilotkit/aimock'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'

const PROGRAM = resolve(import.meta.dirname, '../../node_modules/@copilotkit/aimock/dist/cli.js')
const START_MS = 20_000

export interface Aimock {
  readonly host: string
  readonly port: number
  /** The bodies that reached it, oldest first, as JSON text; other API formats as the equivalent chat request. */
  received(): Promise<readonly string[]>
  /** Empties the journal. */
  forget(): Promise<void>
  close(): Promise<void>
}

export interface Pace {
  /** Characters per stream event; words are cut. */
  readonly characters?: number
  /** Pause between two events. */
  readonly milliseconds?: number
}

/**
 * The first matching fixture answers. The headers x-aimock-chaos-drop, -malformed, -disconnect and -ratelimit with the
 * value 1 make it fail.
 */
export async function startAimock(
  fixtures: readonly FixtureFileEntry[],
  { characters = 7, milliseconds = 5 }: Pace = {},
): Promise<Aimock> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-aimock-'))
  await writeFile(join(folder, 'fixtures.json'), JSON.stringify({ fixtures }))
  const port = await freePort()
  const pace = ['--chunk-size', String(characters), '--latency', String(milliseconds)]
  const child = spawn(
    process.execPath,
    [PROGRAM, '--port', String(port), '--fixtures', folder, '--log-level', 'warn', ...pace],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const control = `http://127.0.0.1:${String(port)}/__aimock`
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    }
    await rm(folder, { recursive: true })
  }
  try {
    await eventually(() => fetch(`${control}/health`), START_MS)
  } catch (failure) {
    await close()
    throw failure
  }
  return {
    host: '127.0.0.1',
    port,
    received: async () => {
      const journal = (await (await fetch(`${control}/journal`)).json()) as JournalEntry[]
      return journal.map(({ body }) => JSON.stringify(body))
    },
    forget: async () => {
      const { status } = await fetch(`${control}/reset/journal`, { method: 'POST' })
      if (status !== 200) throw new Error(`aimock answers ${String(status)}`)
    },
    close,
  }
}
