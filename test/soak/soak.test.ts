// Ten minutes of mixed traffic leave nothing behind in Gatehouse's memory. GATEHOUSE_SOAK_SECONDS sets another
// duration.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type GrpcRelay, startGrpcRelay } from '../support/grpc-relay.js'
import { bearer, send } from '../support/http.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { type ServedStack, startServed } from '../support/served-stack.js'
import { now } from '../support/tokens.js'
import { type Inspector, type Memory, openInspector } from './support/memory.js'
import { answerAsLlm, runTraffic, type Soak } from './support/soak-traffic.js'

const SECONDS = Number(process.env['GATEHOUSE_SOAK_SECONDS'] ?? 600)
/** Long enough for code to be compiled, pools to be filled, tokens to be remembered. */
const WARM_UP_SECONDS = Math.min(60, SECONDS)
const CUT_EVERY_MS = 20_000
/** Largest growth of memory allowed after ten minutes and more than 100,000 requests. */
const HEAP_BYTES = 4_000_000
const BUFFER_BYTES = 1_000_000

let stack: ServedStack
let relay: GrpcRelay
let inspector: Inspector
let grpcPort = 0

beforeAll(async () => {
  const inspectorPort = await freePort()
  stack = await startServed('plain TCP', {
    environment: { NODE_OPTIONS: `--inspect=127.0.0.1:${String(inspectorPort)}` },
    through: async (transport) => {
      const { address } = transport.connection
      if (address.type === 'tcp') grpcPort = address.port
      relay = await startGrpcRelay(transport)
      return relay.transport
    },
  })
  await stack.startEnvoy()
  inspector = await openInspector(inspectorPort)
  answerAsLlm(stack.llm)
})
afterAll(async () => {
  inspector.close()
  await stack.close()
  await relay.close()
})

/** The results of the traffic, and what Gatehouse holds when all of it has ended. */
async function soakFor(seconds: number, tokens: readonly string[]) {
  const stop = AbortSignal.timeout(seconds * 1_000)
  const soak: Soak = {
    origin: stack.origin,
    grpcPort,
    tokens,
    stop,
    counts: {},
    standing: new Set(),
  }
  let cuts = 0
  const disturbing = setInterval(() => {
    void relay.cut()
    cuts += 1
    const more = protectedRoute(`more-${String(cuts % 3)}`, {
      jwtAuthentication: jwt([stack.key]),
    })
    void stack.gatehouse.write('more.yaml', ...more)
    // They remember what has reached them.
    stack.llm.requests.length = 0
    stack.webhook.requests.length = 0
  }, CUT_EVERY_MS)
  await runTraffic(soak)
  clearInterval(disturbing)
  await eventually(async () => {
    expect(await stack.gatehouse.metrics()).toContain('gatehouse_held_bytes 0')
  })
  return { counts: soak.counts, cuts, memory: await inspector.memory() }
}

test(
  `${String(SECONDS)} s of traffic leave the memory as it was`,
  async () => {
    const exp = now() + 3_600 + SECONDS
    const tokens = await Promise.all(
      Array.from({ length: 200 }, (_, at) => sign(stack.key, { exp, sub: String(at) })),
    )
    const before = (await soakFor(WARM_UP_SECONDS, tokens)).memory
    const { counts, cuts, memory } = await soakFor(SECONDS, tokens)
    process.stderr.write(
      `soak: ${JSON.stringify({ counts, before, after: memory }, undefined, 1)}\n`,
    )
    const grown = (member: keyof Memory): number => memory[member] - before[member]
    expect(grown('heapUsed')).toBeLessThan(HEAP_BYTES)
    expect(grown('arrayBuffers')).toBeLessThan(BUFFER_BYTES)
    expectAnswered(counts, cuts)
    const headers = bearer(tokens[0] ?? '')
    await eventually(async () => {
      expect((await send(stack.origin, '/api', { headers })).status).toBe(200)
    })
  },
  (WARM_UP_SECONDS + SECONDS) * 1_000 + 300_000,
)

const EXPECTED: Readonly<Record<string, string>> = {
  'check, known': '200',
  'check, forged': '401',
  'check, none': '401',
  'chat, hello': '200',
  'chat, a secret': '200',
  'chat, block': '403',
  stream: '200',
  left: '200',
}

/** A cut ends what is under way, of each kind no more than it has clients: all else is answered as it should be. */
function expectAnswered(counts: Readonly<Record<string, number>>, cuts: number): void {
  for (const [kind, status] of Object.entries(EXPECTED)) {
    const all = Object.entries(counts).filter(([outcome]) => outcome.startsWith(`${kind}: `))
    const total = all.reduce((sum, [, count]) => sum + count, 0)
    expect(total, kind).toBeGreaterThan(SECONDS)
    expect(total - (counts[`${kind}: ${status}`] ?? 0), kind).toBeLessThanOrEqual(4 * cuts)
  }
}
