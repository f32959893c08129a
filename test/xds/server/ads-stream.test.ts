// Any sequence of snapshots, ACKs and NACKs: Envoy ends up with the last snapshot, and never holds a route to a cluster
// that it does not have.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CLUSTER_TYPE, LISTENER_TYPE, ROUTE_TYPE } from '../../../src/xds/encode/type-urls.js'
import type { StreamRequest } from '../../../src/xds/server/ads-stream.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import type { Protocol, Push } from '../../../src/xds/server/type-stream.js'
import { runs } from '../../support/runs.js'
import { nodeSnapshot } from './fake-envoy.js'

const ROUTES = ['r', 's']

/** An Envoy that applies what it gets when it answers, and refuses contents that end in "bad". */
class ModelEnvoy {
  readonly has = new Map<string, Map<string, string>>([
    [CLUSTER_TYPE, new Map()],
    [LISTENER_TYPE, new Map()],
    [ROUTE_TYPE, new Map()],
  ])
  readonly #inbox: Push[] = []
  readonly #stream: AdsStream
  readonly #protocol: Protocol
  sent = 0

  constructor(protocol: Protocol, snapshot: () => NodeSnapshot) {
    this.#protocol = protocol
    this.#stream = new AdsStream({
      views: new SharedViews(),
      protocol,
      snapshot,
      write: (push, sent) => {
        this.sent += 1
        this.#inbox.push(push)
        queueMicrotask(sent)
      },
      onAck: () => undefined,
      onNack: () => undefined,
      waits: { patienceMs: 60_000, lingerMs: 0 },
    })
    this.#request(CLUSTER_TYPE, '', undefined)
    this.#request(LISTENER_TYPE, '', undefined)
    this.#request(ROUTE_TYPE, '', undefined)
  }

  push(): void {
    this.#stream.push()
  }

  /** Answers the oldest response; false: there is none. */
  answer(isBad: (push: Push) => boolean): boolean {
    const push = this.#inbox.shift()
    if (push === undefined) return false
    const refuses = isBad(push)
    if (!refuses) this.#apply(push)
    this.#request(push.typeUrl, push.nonce, refuses ? 'bad' : undefined)
    return true
  }

  close(): void {
    this.#stream.close()
  }

  #apply(push: Push): void {
    const held = this.has.get(push.typeUrl) ?? new Map<string, string>()
    const complete = this.#protocol === 'state-of-the-world' && push.typeUrl !== ROUTE_TYPE
    if (complete) held.clear()
    for (const { name, version } of push.resources) held.set(name, version)
    if (this.#protocol === 'incremental') for (const name of push.removed) held.delete(name)
  }

  #request(typeUrl: string, nonce: string, refusal: string | undefined): void {
    const request: StreamRequest = {
      typeUrl,
      nonce,
      ...(refusal !== undefined && { refusal }),
      subscribe: (type, first) => {
        if (!first) return
        if (typeUrl === ROUTE_TYPE) type.subscription.change(ROUTES, [])
        else type.subscription.change([], [])
        type.owed = true
      },
    }
    this.#stream.handle(request)
  }
}

interface Config {
  /** Cluster of each route. */
  readonly targets: readonly string[]
  readonly clusters: readonly string[]
  readonly listeners: readonly string[]
}

const snapshotOf = ({ targets, clusters, listeners }: Config): NodeSnapshot =>
  nodeSnapshot({
    clusters: [...new Set([...clusters, ...targets])],
    listeners,
    routes: targets.map((target, i) => `${ROUTES[i] ?? ''}=${target}`),
  })

/** Which cluster the version of a route names. */
const targetOf = new Map(
  ROUTES.flatMap((name) =>
    ['a', 'b', 'c', 'd', 'z'].map((target) => {
      const routes = nodeSnapshot({ routes: [`${name}=${target}`] }).get(ROUTE_TYPE)
      return [routes?.get(name)?.version ?? '', target] as const
    }),
  ),
)

const cluster = fc.constantFrom('a', 'b', 'c', 'd')
const config: fc.Arbitrary<Config> = fc.record({
  targets: fc.array(cluster, { minLength: 2, maxLength: 2 }),
  clusters: fc.uniqueArray(cluster, { maxLength: 2 }),
  listeners: fc.uniqueArray(fc.constantFrom('l', 'l=2', 'm', 'm=2'), {
    selector: (listener) => listener.charAt(0),
  }),
})
const steps = fc.array(
  fc.oneof(
    fc.record({ publish: config }),
    fc.record({
      answers: fc.nat(3),
      refuse: fc.constantFrom(undefined, LISTENER_TYPE, ROUTE_TYPE),
    }),
  ),
  { minLength: 1, maxLength: 25 },
)

function expectNoDanglingRoute({ has }: ModelEnvoy): void {
  for (const version of has.get(ROUTE_TYPE)?.values() ?? []) {
    expect([...(has.get(CLUSTER_TYPE)?.keys() ?? [])]).toContain(targetOf.get(version))
  }
}

const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe.each<Protocol>(['state-of-the-world', 'incremental'])('%s', (protocol) => {
  test('ends with the last snapshot, and never has a route without its cluster', async () => {
    await fc.assert(
      fc.asyncProperty(config, steps, config, async (first, all, last) => {
        let current = snapshotOf(first)
        const envoy = new ModelEnvoy(protocol, () => current)
        const answer = async (isBad: (push: Push) => boolean): Promise<boolean> => {
          const answered = envoy.answer(isBad)
          expectNoDanglingRoute(envoy)
          await flush()
          return answered
        }
        for (const step of all) {
          if ('publish' in step) {
            current = snapshotOf(step.publish)
            envoy.push()
          } else {
            for (let i = 0; i < step.answers; i++) await answer((p) => p.typeUrl === step.refuse)
          }
          await flush()
        }
        // A refused version is never sent again, so that the end is one that was not refused before.
        current = snapshotOf({ ...last, targets: ['z', 'z'], listeners: ['final'] })
        envoy.push()
        await flush()
        let budget = 40
        while (budget-- > 0 && (await answer(() => false)));
        for (const typeUrl of [CLUSTER_TYPE, LISTENER_TYPE, ROUTE_TYPE]) {
          const wanted = [...(current.get(typeUrl)?.values() ?? [])]
          expect(envoy.has.get(typeUrl)).toEqual(new Map(wanted.map((r) => [r.name, r.version])))
        }
        const { sent } = envoy
        envoy.push()
        await flush()
        expect(envoy.sent).toBe(sent)
        envoy.close()
      }),
      { numRuns: runs(150) },
    )
  })
})
