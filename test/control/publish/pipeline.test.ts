// When a change is translated and published, when it is held back, and what stays in force after a bug.

import { beforeEach, describe, expect, test } from 'vitest'
import { unpublished } from '../../../src/cli/report/report.js'
import type { Snapshot } from '../../../src/control/publish/build-snapshot.js'
import { createPipeline, type Pipeline } from '../../../src/control/publish/pipeline.js'
import type { ProviderState, Resources } from '../../../src/control/schema/kinds/resources.js'
import type { Translation } from '../../../src/control/translate/translator.js'
import type { Ir } from '../../../src/model/ir.js'
import type { WantedDocument } from '../../../src/model/remote-target.js'
import type { ResolvedName } from '../../../src/model/resolved-name.js'

const NONE: Resources = {
  gatewayClasses: [],
  gateways: [],
  listenerSets: [],
  httpRoutes: [],
  proxyPolicies: [],
  proxyBackends: [],
  proxyParameters: [],
  backendTlsPolicies: [],
  referenceGrants: [],
  namespaces: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  configMaps: [],
}

const irOf = (name: string): Ir => ({
  gateways: [],
  destinations: [
    { name, endpoints: { type: 'name', host: 'mcp.example', port: 1 }, protocol: 'http1' },
  ],
  certificates: [],
  authz: [],
  proc: [],
})

const complete: ProviderState = { resources: NONE, problems: [], complete: true }
const broken: ProviderState = {
  resources: NONE,
  problems: [{ source: 'a.yaml:1:2', message: 'is no YAML' }],
  complete: false,
}

let translated: () => Translation
let wanted: (readonly WantedDocument[])[]
let published: Snapshot[]
let failures: number
let isSliced: boolean
let names: Map<string, ResolvedName>
let timers: (() => void)[]
let pipeline: Pipeline

beforeEach(() => {
  translated = () => ({
    ir: irOf('a'),
    statuses: [],
    statusParts: [],
    wanted: [],
    attachedRoutes: new Map(),
    names: [],
    ownAddresses: [],
  })
  wanted = []
  published = []
  failures = 0
  isSliced = false
  names = new Map()
  timers = []
  pipeline = createPipeline({
    translator: {
      *translationWork() {
        yield
        return translated()
      },
    },
    slice: { begin: () => undefined, isOver: () => isSliced },
    remote: { want: (documents) => wanted.push(documents), state: () => new Map() },
    names: { want: () => undefined, state: () => names },
    publisher: {
      publish: (snapshot) => published.push(snapshot) > 0,
      current: () => published.at(-1),
    },
    options: { listenAddress: '::', trustedHops: 0, systemCaFile: '/ca', accessLog: false },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    onFailure: () => (failures += 1),
    *onRun() {
      yield
    },
    startTimer(callback) {
      timers.push(callback)
      return () => (timers = timers.filter((timer) => timer !== callback))
    },
  })
})

function fire(): void {
  for (const timer of timers.splice(0)) timer()
}

const obstacles = (): readonly string[] => unpublished(pipeline.state(), published.at(-1))

describe('resources', () => {
  test('are published at once', () => {
    expect(obstacles()).toEqual(['the resources have not been read yet'])
    pipeline.resourcesChanged(complete)
    expect(published).toHaveLength(1)
    expect(obstacles()).toEqual([])
  })

  test('with a document that never decoded are not published at the start; the reason is logged', () => {
    pipeline.resourcesChanged(broken)
    expect(published).toEqual([])
    expect(obstacles()).toEqual(['a.yaml:1:2: is no YAML'])
    pipeline.resourcesChanged(complete)
    expect(published).toHaveLength(1)
  })

  test('that were published once are published again, whatever breaks later', () => {
    pipeline.resourcesChanged(complete)
    translated = () => ({
      ir: irOf('b'),
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.resourcesChanged(broken)
    expect(published.map(({ ir }) => ir.destinations[0]?.name)).toEqual(['a', 'b'])
    expect(obstacles()).toEqual([])
  })

  test('say which documents they want, also when they are held back', () => {
    const documents = [{ id: 'k', kind: 'KeySet' as const, targets: [] }]
    translated = () => ({
      ir: irOf('a'),
      statuses: [],
      statusParts: [],
      wanted: documents,
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.resourcesChanged(broken)
    expect(wanted).toEqual([documents])
  })
})

describe('names that nobody has looked up yet', () => {
  const naming =
    (...wantedNames: readonly string[]) =>
    (): Translation => ({
      ir: irOf(wantedNames.join()),
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: wantedNames,
      ownAddresses: [],
    })
  const publishedNow = () => published.map(({ ir }) => ir.destinations[0]?.name)

  test('hold a change back until they are, or until it has taken too long', () => {
    translated = naming('a')
    pipeline.resourcesChanged(complete)
    expect(publishedNow()).toEqual([])
    names.set('a', { ips: ['10.0.0.1'] })
    pipeline.resourcesChanged(complete)
    expect(publishedNow()).toEqual(['a'])
    translated = naming('a', 'silent')
    pipeline.resourcesChanged(complete)
    pipeline.resourcesChanged(complete)
    expect(publishedNow()).toEqual(['a'])
    fire()
    expect(publishedNow()).toEqual(['a', 'a,silent'])
  })

  test('hold nothing back again before all of them were looked up once', () => {
    translated = naming('silent')
    pipeline.resourcesChanged(complete)
    fire()
    translated = naming('silent', 'another')
    pipeline.resourcesChanged(complete)
    expect(publishedNow()).toEqual(['silent', 'silent,another'])
    names.set('silent', { error: 'no answer' }).set('another', { error: 'no answer' })
    pipeline.resourcesChanged(complete)
    translated = naming('silent', 'another', 'new')
    pipeline.resourcesChanged(complete)
    expect(publishedNow().at(-1)).toBe('silent,another')
  })

  test('leave no timer behind', () => {
    translated = naming('silent')
    pipeline.resourcesChanged(complete)
    pipeline.close()
    expect(timers).toEqual([])
  })
})

describe('remote documents', () => {
  test('that arrive together make one run', () => {
    pipeline.resourcesChanged(complete)
    translated = () => ({
      ir: irOf('b'),
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.remoteChanged()
    pipeline.remoteChanged()
    expect([published.length, timers.length]).toEqual([1, 1])
    fire()
    expect(published).toHaveLength(2)
  })

  test('are taken at once when a check waits for them, and then not a second time', () => {
    pipeline.resourcesChanged(complete)
    translated = () => ({
      ir: irOf('b'),
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.remoteChanged()
    void pipeline.flush()
    expect(published).toHaveLength(2)
    expect(timers).toEqual([])
  })

  test('before the resources are read do nothing, and flush without a change does not either', () => {
    pipeline.remoteChanged()
    fire()
    void pipeline.flush()
    expect(published).toEqual([])
  })

  test('leave no timer behind at the end', () => {
    pipeline.resourcesChanged(complete)
    pipeline.remoteChanged()
    pipeline.close()
    expect(timers).toEqual([])
  })
})

const translationTo = (name: string): Translation => ({
  ir: irOf(name),
  statuses: [],
  statusParts: [],
  wanted: [],
  attachedRoutes: new Map(),
  names: [],
  ownAddresses: [],
})

describe('a run in slices', () => {
  const publishedNow = () => published.map(({ ir }) => ir.destinations[0]?.name)

  beforeEach(() => {
    pipeline.resourcesChanged(complete)
    isSliced = true
  })

  test('leaves the configuration before it in force until it has ended', async () => {
    translated = () => translationTo('b')
    pipeline.resourcesChanged(complete)
    expect(publishedNow()).toEqual(['a'])
    expect(pipeline.state().translation?.ir).toEqual(irOf('a'))
    await pipeline.flush()
    expect(publishedNow()).toEqual(['a', 'b'])
    expect(pipeline.state().translation?.ir).toEqual(irOf('b'))
  })

  test('is followed by one more, which takes all that changed meanwhile', async () => {
    let runs = 0
    translated = () => translationTo(`run-${String((runs += 1))}`)
    pipeline.resourcesChanged(complete)
    const last = { ...broken, problems: [] }
    for (const state of [complete, broken, last]) pipeline.resourcesChanged(state)
    await pipeline.flush()
    expect(publishedNow()).toEqual(['a', 'run-1', 'run-2'])
    expect(pipeline.state().provider).toBe(last)
  })

  test('shows what it translated, not what was read meanwhile', async () => {
    const seen: unknown[] = []
    translated = () => {
      seen.push(pipeline.state().provider)
      return translationTo('b')
    }
    pipeline.resourcesChanged(broken)
    await pipeline.flush()
    expect(seen).toEqual([complete])
    expect(pipeline.state().provider).toBe(broken)
  })

  test('is waited for by a check whose keys arrived while an earlier one was at work', async () => {
    translated = () => translationTo('without the keys')
    pipeline.resourcesChanged(complete)
    pipeline.remoteChanged()
    const flushed = pipeline.flush()
    translated = () => translationTo(publishedNow().length === 1 ? 'without the keys' : 'the keys')
    await flushed
    expect(publishedNow()).toEqual(['a', 'without the keys', 'the keys'])
    expect(timers).toEqual([])
  })

  test('that fails leaves the last good one in force, and the next change is translated', async () => {
    translated = () => {
      throw new Error('a bug')
    }
    pipeline.resourcesChanged(complete)
    await pipeline.flush()
    expect([publishedNow(), failures]).toEqual([['a'], 1])
    expect(pipeline.state().failure).toBe('a bug')
    translated = () => translationTo('b')
    pipeline.resourcesChanged(complete)
    await pipeline.flush()
    expect(publishedNow()).toEqual(['a', 'b'])
  })

  test('publishes nothing after the end', async () => {
    translated = () => translationTo('b')
    pipeline.resourcesChanged(complete)
    pipeline.resourcesChanged(complete)
    const settled = pipeline.flush()
    pipeline.close()
    await settled
    expect(publishedNow()).toEqual(['a'])
  })
})

describe('a bug', () => {
  const bug = (): never => {
    throw new Error('a bug')
  }

  test('in the translation leaves the last good one in force, is counted and shown', () => {
    pipeline.resourcesChanged(complete)
    translated = bug
    pipeline.resourcesChanged(complete)
    expect(published).toHaveLength(1)
    expect(failures).toBe(1)
    expect(pipeline.state()).toMatchObject({ failure: 'a bug', translation: { ir: irOf('a') } })
    expect(obstacles()).toEqual([])
  })

  test('in the encoding does so too', () => {
    pipeline.resourcesChanged(complete)
    const [destination] = irOf('b').destinations
    const odd = { ...irOf('b'), gateways: undefined as unknown as Ir['gateways'] }
    translated = () => ({
      ir: { ...odd, destinations: [destination!] },
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.resourcesChanged(complete)
    expect([published.length, failures]).toEqual([1, 1])
  })

  test('is forgotten by the next run that succeeds', () => {
    translated = bug
    pipeline.resourcesChanged(complete)
    expect(obstacles()).toEqual(['the resources could not be translated: a bug'])
    translated = () => ({
      ir: irOf('a'),
      statuses: [],
      statusParts: [],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    })
    pipeline.resourcesChanged(complete)
    expect(pipeline.state().failure).toBeUndefined()
    expect(obstacles()).toEqual([])
  })
})
