// Any sequence of snapshots, ACKs, NACKs, drains and new streams: an Envoy that subscribes to virtual hosts separately
// ends up with the last snapshot, none of its resources keeps warming, and at no time does a virtual host name a
// cluster that Envoy does not have.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CLUSTER_TYPE,
  LISTENER_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import { runs } from '../../support/runs.js'
import { type Contents, nodeSnapshot } from './fake-envoy.js'
import { ModelEnvoy } from './model-envoy.js'

const contents = new Map<string, string>()
const contentOf = (version: string): string => contents.get(version) ?? ''

interface Config {
  /** The route configuration of each of two listeners; null: there is no such listener. */
  readonly listeners: readonly (string | null)[]
  readonly hosts: readonly {
    readonly configuration: string
    readonly domain: string
    /** A cluster, or "bad". */
    readonly to: string
  }[]
  readonly clusterVersion: string
  /** Contents of clusters that no host names. */
  readonly unused: readonly string[]
  readonly routeVersion: string
}

const configuration = fc.constantFrom('r', 's', 't')
const listener: fc.Arbitrary<string | null> = fc.constantFrom(null, 'r', 's', 't', 'bad')
const config: fc.Arbitrary<Config> = fc.record({
  listeners: fc.tuple(listener, listener),
  hosts: fc.uniqueArray(
    fc.record({
      configuration,
      domain: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      to: fc.constantFrom('x', 'y', 'z', 'bad'),
    }),
    { selector: ({ configuration, domain }) => `${configuration}/${domain}`, maxLength: 12 },
  ),
  clusterVersion: fc.constantFrom('1', '2'),
  unused: fc.array(fc.constantFrom('1', '2', 'bad'), { maxLength: 3 }),
  routeVersion: fc.constantFrom('1', '1', '2'),
})

/** Without anything that is refused. */
const mended = ({ listeners, hosts, unused, ...rest }: Config): Config => ({
  ...rest,
  listeners: listeners.map((name) => (name === 'bad' ? 'r' : name)),
  hosts: hosts.map((host) => ({ ...host, to: host.to === 'bad' ? 'x' : host.to })),
  unused: unused.map((content) => (content === 'bad' ? '3' : content)),
})

function snapshotOf(config: Config): NodeSnapshot {
  const { listeners, hosts, clusterVersion, unused, routeVersion } = config
  const routes = [...new Set(listeners.filter((name) => name !== null && name !== 'bad'))]
  const own = hosts.filter(({ configuration }) => routes.includes(configuration))
  const clusters = [...new Set(own.map(({ to }) => to).filter((to) => to !== 'bad'))]
  const texts = {
    clusters: [
      ...clusters.map((name) => `${name}=${clusterVersion}`),
      ...unused.map((content, index) => `unused-${String(index)}=${content}`),
    ],
    endpoints: [...clusters, ...unused.map((_, index) => `unused-${String(index)}`)],
    listeners: listeners.flatMap((name, index) =>
      name === null ? [] : [`l${String(index)}=${name}`],
    ),
    routes: routes.map((name) => `${String(name)}=${routeVersion}`),
    hosts: own.map(({ configuration, domain, to }) => `${configuration}/${domain}=${to}`),
  } satisfies Contents
  const snapshot = nodeSnapshot(texts)
  for (const text of Object.values(texts).flat()) {
    const [name = '', content = ''] = text.split('=')
    for (const resources of snapshot.values()) {
      const version = resources.get(name)?.version
      if (version !== undefined) contents.set(version, content)
    }
  }
  return snapshot
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ publish: config }) },
    { weight: 6, arbitrary: fc.record({ answers: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.constantFrom('end drain' as const, 'reconnect' as const) },
  ),
  { maxLength: 25 },
)

function expectNoDanglingHost(envoy: ModelEnvoy): void {
  for (const name of envoy.needed()) {
    if (envoy.outdated.has(name)) continue
    for (const version of envoy.hosts.get(name)?.values() ?? [])
      expect([...envoy.clusters.keys()]).toContain(contentOf(version))
  }
}

const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const versionsOf = (snapshot: NodeSnapshot, typeUrl: string): ReadonlyMap<string, string> =>
  new Map([...(snapshot.get(typeUrl)?.values() ?? [])].map(({ name, version }) => [name, version]))

test('ends with the last snapshot, nothing waits, and no host is ever without its cluster', async () => {
  await fc.assert(
    fc.asyncProperty(config, steps, config, async (first, all, last) => {
      let current = snapshotOf(first)
      const envoy = new ModelEnvoy(() => current, contentOf)
      const answer = async (): Promise<boolean> => {
        const answered = envoy.answer()
        expectNoDanglingHost(envoy)
        await flush()
        return answered
      }
      const publish = (config: Config): void => {
        current = snapshotOf(config)
        envoy.push()
      }
      for (const step of all) {
        if (step === 'end drain') envoy.endDrain()
        else if (step === 'reconnect') envoy.reconnect()
        else if ('publish' in step) publish(step.publish)
        else for (let count = 0; count < step.answers; count += 1) await answer()
        await flush()
      }
      publish(mended(last))
      await flush()
      for (let budget = 80; budget > 0 && (await answer()); budget -= 1);
      expect(envoy.isIdle).toBe(true)
      expect(envoy.listeners).toEqual(versionsOf(current, LISTENER_TYPE))
      expect(envoy.clusters).toEqual(versionsOf(current, CLUSTER_TYPE))
      expect([...envoy.warming]).toEqual([])
      const has = [...envoy.needed()].flatMap((name) => [...(envoy.hosts.get(name) ?? [])])
      expect(new Map(has)).toEqual(versionsOf(current, VIRTUAL_HOST_TYPE))
      envoy.close()
    }),
    { numRuns: runs(600) },
  )
})
