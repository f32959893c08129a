// npm run bench -- memory: measures how much Gatehouse holds under unfinished requests and a slow webhook, and how much
// remains afterwards. Writes its section of docs/performance.md.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runArguments } from './gatehouse.js'
import { slowPrompts, unfinishedBodies } from './held-loads.js'
import { type HeldRow, reportHeld } from './held-report.js'
import { startHeldServers } from './held-servers.js'
import { residentMemory } from './memory.js'
import { backend, gatewayAt, OURS, policy, route } from './objects.js'
import { freePorts, run, stop, until } from './processes.js'
import { writeSections } from './sections.js'

const AFTER_MS = 30_000
const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A route whose prompts or replies the webhook checks. */
function guarded(name: string, phase: 'request' | 'response', llm: number): readonly object[] {
  const webhook = { backendRef: { group: OURS, kind: 'ProxyBackend', name: 'webhook' } }
  const promptGuard = { [phase]: [{ webhook }] }
  return [route(name), backend(name, llm), policy(name, { backend: { ai: { promptGuard } } })]
}

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
const servers = await startHeldServers()
const { port, admin } = await freePorts(['port', 'admin'])
const resources = join(folder, 'resources.json')
const items = [
  gatewayAt(port),
  ...guarded('prompts', 'request', servers.llm),
  ...guarded('replies', 'response', servers.llm),
  backend('webhook', servers.webhook),
]
await writeFile(resources, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }))
const gatehouse = run(
  process.execPath,
  await runArguments(resources, `127.0.0.1:${String(admin)}`),
  'pipe',
)
gatehouse.child.stdout?.resume()
gatehouse.child.stderr?.resume()

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${String(admin)}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** Runs a load and measures memory before it, at its peak, and 30 s after it. */
async function watched(
  name: string,
  load: () => Promise<Pick<HeldRow, 'answers'>>,
): Promise<HeldRow> {
  say(name)
  const idle = residentMemory(gatehouse.pid)
  const most = { memory: 0, held: 0 }
  const look = async (): Promise<void> => {
    most.memory = Math.max(most.memory, residentMemory(gatehouse.pid))
    most.held = Math.max(most.held, await metric('gatehouse_held_bytes'))
  }
  const clock = setInterval(() => void look().catch(() => {}), 100)
  const { answers } = await load()
  clearInterval(clock)
  await sleep(AFTER_MS)
  return {
    name,
    answers,
    idle,
    most: most.memory,
    held: most.held / 1024 ** 2,
    left: (await metric('gatehouse_held_bytes')) / 1024 ** 2,
    after: residentMemory(gatehouse.pid),
  }
}

try {
  await until(`http://127.0.0.1:${String(admin)}/readyz`, 60_000)
  const origin = { port, servers }
  say('a little of each, so that all code has run')
  await slowPrompts({ ...origin, count: 20, bytes: 64 * 1024 })
  await unfinishedBodies({ ...origin, count: 5, bytes: 64 * 1024 })
  await sleep(5_000)
  const rows = [
    await watched('200 clients with 9 of 10 MiB, who then leave', () =>
      unfinishedBodies({ ...origin, count: 200, bytes: 9 * 1024 ** 2 }),
    ),
    await watched('1,000 prompts of 1 MiB for a slow webhook', () =>
      slowPrompts({ ...origin, count: 1000, bytes: 1024 ** 2 }),
    ),
  ]
  const text = reportHeld(rows)
  await writeSections(text)
  process.stdout.write(text)
} finally {
  await stop([gatehouse])
  servers.close()
  await rm(folder, { recursive: true })
}
