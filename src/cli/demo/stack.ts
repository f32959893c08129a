// Starts the demo's whole stack on loopback from config/demo: its parties, Gatehouse and its Envoy.

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Document, type Pair, parseAllDocuments, type Scalar, visit } from 'yaml'
import type { ResourceProvider } from '../../control/schema/kinds/resources.js'
import type { Logger } from '../../kit/logger.js'
import { ownFile } from '../../kit/own-files.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { ServerAddress } from '../../ops/settings/values.js'
import { type App, type AppDeps, startApp } from '../app/app.js'
import { untilAborted } from '../app/until-aborted.js'
import { findEnvoy } from '../run-envoy/find-envoy.js'
import { startKeeper } from '../run-envoy/keeper.js'
import { createPrivateFolder, type PrivateFolder } from '../run-envoy/private-folder.js'
import type { CommandTies } from '../run-envoy/run-command.js'
import { CONFIG_PORTS, SERVER_METADATA_PATH } from './demo-parties.js'
import { aPort, thePort } from './free-port.js'
import { type Parties, type Party, startParties } from './parties.js'
import { findPartyPackages } from './party-packages.js'

/** The running demo. */
export interface DemoStack {
  /** Origin of the gateway, for clients. */
  readonly origin: string
  /** Gatehouse's admin address: HOST:PORT or unix:PATH. */
  readonly admin: string
  /** Admin address of the demo's Envoy; undefined if it has none. */
  readonly envoyAdmin: ServerAddress | undefined
  readonly parties: Parties
  /** Folder with the resources. */
  readonly folder: string
  /** Resolves when the gateway serves the demo's routes; rejects when the signal aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

/** What the demo is started with. */
export interface DemoDeps {
  readonly logger: Logger
  /** Called with notes about slow steps. */
  readonly note: (sentence: string) => void
  /** Called with the name and the place of each party that has started. */
  readonly started: (party: string, where: string) => void
  /** Creates a provider for the resources in a folder. */
  readonly provider: (folder: string) => ResourceProvider
  readonly onFatal: AppDeps['onFatal']
  /** Aborts a start in progress. */
  readonly stop: AbortSignal
}

/** Keeps track of what has been started, for close() to clean up even a start that failed half-way. */
export class Demo {
  #app: App | undefined
  readonly #parties: Party[] = []
  #folder: PrivateFolder | undefined

  /** Rejects with a system error (EADDRINUSE), a message for a person (no Envoy), or the signal's reason. */
  start(settings: Settings, deps: DemoDeps): Promise<DemoStack> {
    return untilAborted(this.#begin(settings, deps), deps.stop)
  }

  async #begin(settings: Settings, deps: DemoDeps): Promise<DemoStack> {
    const { stop, logger } = deps
    const keeper = startKeeper(logger)
    const gateway = await gatewayAddress(settings)
    const { environment } = settings
    const ties: CommandTies = { signal: stop, keep: (child) => keeper.keep(child) }
    const packages = await findPartyPackages({ environment, note: deps.note, ...ties })
    const explicit = settings.envoy
    const envoy = await findEnvoy({
      ...(explicit !== undefined && { explicit }),
      environment,
      onNote: deps.note,
      ...ties,
    })
    const parties = await startParties((name, where, party) => {
      this.#parties.push(party)
      if (stop.aborted) void party.close()
      stop.throwIfAborted()
      deps.started(name, where)
    }, packages)
    const { identityProvider, mcpServer, llm, guardrailWebhook } = parties
    const values: DemoValues = {
      ports: {
        gateway: gateway.port,
        identityProvider: identityProvider.port,
        mcpServer: mcpServer.port,
        llm: llm.port,
        guardrailWebhook: guardrailWebhook.port,
      },
      gatewayHost: gateway.host,
      apiGroup: settings.apiGroup,
    }
    const folder = (this.#folder = await createDemoFolder(values))
    keeper.keepFolder(folder.path)
    stop.throwIfAborted()
    const own = await appSettings({ ...settings, envoy, resources: [folder.path] })
    const app = (this.#app = await startApp(own, {
      logger,
      provider: deps.provider(folder.path),
      keeper,
      stop,
      onFatal: deps.onFatal,
    }))
    const origin = originOf('gateway', values)
    return {
      origin,
      admin: app.admin,
      envoyAdmin: app.envoyAdmin,
      parties,
      folder: folder.path,
      ready: (signal) => untilServing(origin, app.admin, signal),
    }
  }

  /** Whether there is something to close. */
  get isUp(): boolean {
    return this.#parties.length > 0
  }

  async close(): Promise<void> {
    try {
      await this.#app?.close()
    } finally {
      await Promise.all([...this.#parties.map((party) => party.close()), this.#folder?.remove()])
    }
  }

  /** Ends everything without waiting, for a sudden end of the process. */
  kill(): void {
    this.#app?.kill()
    for (const party of this.#parties) party.kill?.()
    this.#folder?.removeNow()
  }
}

// Copies config/demo, with the addresses of this run, to a private folder where the user can read and edit it.

const SOURCE = fileURLToPath(ownFile('config/demo/'))

/** Creates the folder of resources for a run of the demo. */
async function createDemoFolder(values: DemoValues): Promise<PrivateFolder> {
  const folder = await createPrivateFolder('demo')
  for (const file of await readdir(SOURCE)) {
    const text = await readFile(join(SOURCE, file), 'utf8')
    await writeFile(join(folder.path, file), withValues(text, values))
  }
  return folder
}

// Replaces addresses and API group in the text of config/demo's resources with those of this run; comments stay.

const CONFIG_HOST = '127.0.0.1'
const CONFIG_API_GROUP = 'policy.gatehouse.dev'

/** Name of a party whose port config/demo names. */
export type PartyName = keyof typeof CONFIG_PORTS

/** The values of a run that replace those of config/demo. */
export interface DemoValues {
  readonly ports: Readonly<Record<PartyName, number>>
  /** Host on which clients reach the gateway, IPv6 without brackets. The other parties are at 127.0.0.1. */
  readonly gatewayHost: string
  readonly apiGroup: string
}

/** Replaces ports, URLs and API groups, wherever they occur. text: YAML documents. */
export function withValues(text: string, values: DemoValues): string {
  const documents = parseAllDocuments(text) as Document[]
  for (const document of documents) {
    visit(document, {
      Pair: (_key, pair) => setPort(pair, values),
      Scalar: (_key, scalar) => setText(scalar, values),
    })
  }
  return documents
    .map((document) => document.toString({ lineWidth: 0, flowCollectionPadding: false }))
    .join('')
}

/** Returns scheme, host and port of the party's URLs. */
function originOf(party: PartyName, { ports, gatewayHost }: DemoValues): string {
  const host = party === 'gateway' ? gatewayHost : CONFIG_HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(ports[party])}`
}

const parties = Object.keys(CONFIG_PORTS) as PartyName[]

/** Replaces the port of a listener, a backend or a reference to one. */
function setPort({ key, value }: Pair, { ports }: DemoValues): void {
  if ((key as Scalar).value !== 'port') return
  const port = value as Scalar
  const party = parties.find((name) => CONFIG_PORTS[name] === port.value)
  if (party !== undefined) port.value = ports[party]
}

function setText(scalar: Scalar, values: DemoValues): void {
  const text = scalar.value
  if (typeof text !== 'string') return
  const [group, ...rest] = text.split('/')
  if (group === CONFIG_API_GROUP) scalar.value = [values.apiGroup, ...rest].join('/')
  const party = parties.find((name) => text.startsWith(`${configOrigin(name)}/`))
  if (party !== undefined) {
    scalar.value = originOf(party, values) + text.slice(configOrigin(party).length)
  }
}

const configOrigin = (party: PartyName): string =>
  `http://${CONFIG_HOST}:${String(CONFIG_PORTS[party])}`

// Waits until the gateway serves the demo's routes, including keys and the discovery document.

const POLL_MS = 50
const PATIENCE_MS = 30_000

/** Status by path once the path is served. */
const SERVED: Readonly<Record<string, number>> = {
  '/mcp': 401,
  [SERVER_METADATA_PATH]: 200,
  '/v1/models': 200,
}

/** Rejects when the signal aborts, or after 30 s with a message for a person. admin: HOST:PORT or unix:PATH. */
async function untilServing(origin: string, admin: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const problem = await firstProblem(origin, signal)
    if (problem === undefined) return
    signal.throwIfAborted()
    if (Date.now() > deadline) throw new Error(await sentence(problem, admin))
    await delay(POLL_MS)
  }
}

async function firstProblem(origin: string, signal: AbortSignal): Promise<string | undefined> {
  for (const [path, wanted] of Object.entries(SERVED)) {
    const answer = await status(origin + path, signal)
    if (answer === 0) return 'does not answer'
    if (answer !== wanted) return `answers ${path} with ${String(answer)}`
  }
  return undefined
}

/** Returns the status of the answer; 0: no answer. */
async function status(url: string, signal: AbortSignal): Promise<number> {
  try {
    const response = await fetch(url, { signal })
    await response.body?.cancel()
    return response.status
  } catch {
    return 0
  }
}

async function sentence(problem: string, admin: string): Promise<string> {
  const reasons = await fetch(`http://${admin}/readyz`)
    .then((response) => response.text())
    .catch(() => '')
  return `the gateway still ${problem} after ${String(PATIENCE_MS / 1000)} s; ${reasons.trim()}`
}

// Derives the gateway's address and Gatehouse's settings for the demo: on loopback, and with free ports.

const LOOPBACK = '127.0.0.1'
const ANY_ADDRESS = ['0.0.0.0', '::']
/** Enough for a demo's requests; with more, a client's open event stream would delay every Ctrl-C. */
const DRAIN_MS = 1000

/** Returns the address that the gateway listens on: loopback, unless the user gave one. */
const listenAddress = ({ given, listenAddress: wanted }: Settings): string =>
  given.has('listenAddress') ? wanted : LOOPBACK

/** Returns where clients reach the gateway. Rejects with the system's error when its port is not free. */
async function gatewayAddress(
  settings: Settings,
): Promise<{ readonly host: string; readonly port: number }> {
  const host = listenAddress(settings)
  const port = await thePort(settings.port ?? CONFIG_PORTS.gateway, host)
  return { host: ANY_ADDRESS.includes(host) ? LOOPBACK : host, port }
}

/** Returns settings in which defaults, but not given values, avoid what else runs on this machine. */
async function appSettings(settings: Settings): Promise<Settings> {
  const { given, admin, drainTimeout } = settings
  return {
    ...settings,
    listenAddress: listenAddress(settings),
    drainTimeout: given.has('drainTimeout') ? drainTimeout : DRAIN_MS,
    admin:
      given.has('admin') || admin.type === 'unix'
        ? admin
        : { ...admin, port: await aPort(admin.port) },
  }
}
