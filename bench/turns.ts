// npm run bench -- turns: measures how long Gatehouse blocks waiting checks at startup, on a change, while a hundred Envoys
// connect, and by single requests. Writes its section of docs/performance.md.

import { on, once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { Client, credentials } from '@grpc/grpc-js'
import { VIRTUAL_HOST_TYPE } from '../src/xds/encode/type-urls.js'
import { serveFiles } from './gatehouse.js'
import { type LightEnvoy, startLightEnvoy } from './light-envoy.js'
import { hostOfItsOwn, objectsOf, policyOf, routeOf } from './many-objects.js'
import { gatewayAt } from './objects.js'
import { type Party, root, stop, untilHolds } from './processes.js'
import { publicationsIn } from './publications.js'
import { measureRequests } from './request-turns.js'
import { writeSections } from './sections.js'
import { machine, table } from './table.js'
import { writeFiles } from './written-files.js'

const ROUTES = 5_000
const ENVOYS = 100
const CHANGES = 10
/** Documents per file: a route, its backend and its policy. */
const PER_FILE = 3
const PATIENCE_MS = 300_000
const OF_ANY_SIZE = { 'grpc.max_receive_message_length': -1, 'grpc.use_local_subchannel_pool': 1 }
const PROBE = join(root, '.cache/bench/loop-probe.mjs')

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)

/** The output of each party, line by line. */
const outputs = new WeakMap<Party, Interface>()

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
const resources = join(folder, 'resources')
const grpc = `unix:${join(folder, 'grpc.sock')}`
await mkdir(resources)
const objects = [...Array(ROUTES).keys()].flatMap((index) => objectsOf(index, hostOfItsOwn, 9))
const { put } = await writeFiles(resources, [...objects, gatewayAt(18_080)], PER_FILE)
const gatehouse = await serveFiles(resources, grpc, ['--import', PROBE])
const publications = publicationsIn(gatehouse.log)
let ofConfiguration: readonly Stretch[] = []
try {
  ofConfiguration = await measure(gatehouse)
} finally {
  await stop([gatehouse])
  await rm(folder, { recursive: true })
}

const ofRequests: Stretch[] = []
await measureRequests(PROBE, async (party, what) => {
  const stretch = await longestOf(party, what)
  if (what !== '') ofRequests.push(stretch)
})
await writeSections(report(ofConfiguration, ofRequests))

interface Stretch {
  readonly what: string
  /** CPU milliseconds. */
  readonly longest: number
  /** Of these, what V8 spent on collections. */
  readonly collected: number
}

async function measure(party: Party): Promise<readonly Stretch[]> {
  const stretches: Stretch[] = []
  const note = async (what: string): Promise<void> =>
    void stretches.push(await longestOf(party, what))
  await note('the start')
  await changeSome((index, version) => policyOf(index, `GET${version}`))
  await note('a change of a policy, no Envoy connected')
  const clients = [...Array(ENVOYS).keys()].map(
    () => new Client(grpc, credentials.createInsecure(), OF_ANY_SIZE),
  )
  const envoys: LightEnvoy[] = []
  for (const [index, client] of clients.slice(0, 1).entries())
    envoys.push(startLightEnvoy(client, `envoy-${String(index)}`, () => undefined))
  await untilAllHave(envoys, ROUTES)
  await note('the first Envoy connects')
  for (const [index, client] of clients.entries())
    if (index > 0) envoys.push(startLightEnvoy(client, `envoy-${String(index)}`, () => undefined))
  await untilAllHave(envoys, ROUTES)
  await note(`${String(ENVOYS - 1)} Envoys connect at once`)
  let hosts = ROUTES
  await changeSome(
    (index, version) => routeOf(index, hostOfItsOwn, version),
    async () => {
      hosts += 1
      await untilAllHave(envoys, hosts)
    },
  )
  await note(`a change of a route, for ${String(ENVOYS)} Envoys`)
  for (const envoy of envoys) envoy.close()
  for (const client of clients) client.close()
  return stretches
}

function outputOf(party: Party): Interface {
  const { stdout } = party.child
  if (stdout === null) throw new Error('its output cannot be read')
  const output = outputs.get(party) ?? createInterface({ input: stdout })
  outputs.set(party, output)
  return output
}

/** Asks the probe for the longest stretch since it was asked last. */
async function longestOf(party: Party, what: string): Promise<Stretch> {
  const lines = on(outputOf(party), 'line', { close: ['close'] })
  party.child.kill('SIGUSR2')
  for await (const [line] of lines as AsyncIterableIterator<[string]>)
    if (line.startsWith('longest ')) {
      const [, longest = 0, collected = 0] = line.split(' ').map(Number)
      if (what !== '')
        say(`${what}: ${String(longest)} ms, of which ${String(collected)} for collections`)
      return { what, longest, collected }
    }
  throw new Error('the probe does not answer')
}

async function changeSome(
  objectOf: (index: number, version: string) => object,
  taken: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (let step = 0; step < CHANGES; step += 1) {
    const published = once(publications, 'published', { signal: AbortSignal.timeout(PATIENCE_MS) })
    await put(objectOf(step, `-${String(step)}`))
    await published
    await taken()
  }
}

function untilAllHave(envoys: readonly LightEnvoy[], hosts: number): Promise<void> {
  const haveAll = ({ byType }: LightEnvoy): boolean => (byType.get(VIRTUAL_HOST_TYPE) ?? 0) >= hosts
  const what = `each of ${String(envoys.length)} Envoys has ${String(hosts)} hosts`
  return untilHolds(() => Promise.resolve(envoys.every(haveAll)), PATIENCE_MS, what)
}

function tableOf(stretches: readonly Stretch[]): string {
  const rows = stretches.map(({ what, longest, collected }) => [
    what,
    `${longest.toFixed(1)} ms`,
    `${collected.toFixed(1)} ms`,
  ])
  return table(['while', 'longest stretch', 'of it collections'], rows)
}

function report(ofConfiguration: readonly Stretch[], ofRequests: readonly Stretch[]): string {
  return `## How long checks may have to wait

\`npm run bench -- turns\` wrote this section: \`gatehouse serve\` with ${ROUTES.toLocaleString('en')} routes, each with a host, a backend
and a policy of its own, in as many files of one folder; ${String(ENVOYS)} clients that take what an Envoy takes, by incremental ADS. The
longest time that the main thread worked without yielding, in CPU time, measured from when the first server listens, and how
much of it V8 spent on collections.

${tableOf(ofConfiguration)}

The same for requests through \`gatehouse run\` and a real Envoy, eight of each kind one after the other, and then eight at once:

${tableOf(ofRequests)}

${machine()}
`
}
