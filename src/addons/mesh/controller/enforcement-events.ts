// Records a warning Event on each ProxyPolicy that the mesh no longer enforces for some seconds.

import { resourceKey } from '../../../control/schema/decode/resource-set.js'
import { metadataText } from '../../../control/sources/kubernetes/applier.js'
import type { KubernetesClient } from '../../../control/sources/kubernetes/client.js'
import { leaseIdentity } from '../../../control/sources/kubernetes/lease-of.js'
import type { KubernetesProvider } from '../../../control/sources/kubernetes/provider.js'
import { errorText } from '../../../kit/errors.js'
import type { JsonObject } from '../../../model/json.js'
import type { PolicyName } from '../../../model/mesh-route.js'
import type { Settings } from '../../../ops/settings/settings.js'
import type { Enforcement } from './enforcement.js'
import { memberOf, objectsOf, textOf } from './json-members.js'

/** What writing Events needs. */
export interface EventDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly onWarning: (message: string) => void
}

/** How long a policy must not be enforced: an ordinary change takes the mesh a moment, in milliseconds. */
const SETTLED_MS = 3_000

/** Longest note of an Event (events.k8s.io/v1). */
const MOST_NOTE = 1_024

type Enforcements = ReadonlyMap<string, Enforcement>

/** Writes Events. One that cannot be written is a line in the log. */
export interface EnforcementEvents {
  /** Compares two states. */
  compare(now: Enforcements, before: Enforcements): void
  /** Forgets what was known: another replica reports now. */
  forget(): void
}

/** Creates a writer of Events that knows of no policy yet. */
export const createEnforcementEvents = (settings: Settings, deps: EventDeps): EnforcementEvents =>
  new Events(settings, deps)

class Events implements EnforcementEvents {
  readonly #apiGroup: string
  readonly #identity: string
  readonly #deps: EventDeps
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  /** Policies that were enforced when last known, and have no Event yet that they are not. */
  readonly #enforced = new Set<string>()
  /** When this replica wrote its last Event on a policy that it has not seen enforced since, in seconds. */
  readonly #reported = new Map<string, number>()
  #latest: Enforcements = new Map()

  constructor({ apiGroup, environment }: Settings, deps: EventDeps) {
    this.#apiGroup = apiGroup
    this.#identity = leaseIdentity(environment).slice(0, 128)
    this.#deps = deps
  }

  compare(now: Enforcements, before: Enforcements): void {
    this.#latest = now
    for (const kept of [this.#enforced, this.#reported])
      for (const key of kept.keys()) if (!now.has(key)) kept.delete(key)
    for (const [key, { policy, isEnforced, isPending }] of now) {
      if (isEnforced) this.#reported.delete(key)
      // Another replica may have reported until now: the status says what it knew.
      if (isEnforced || (!before.has(key) && this.#wasEnforced(key, policy)))
        this.#enforced.add(key)
      if (isEnforced || isPending || !this.#enforced.has(key) || this.#waiting.has(key)) continue
      this.#waiting.set(key, setTimeout(() => this.#writeIfStill(key), SETTLED_MS).unref())
    }
  }

  forget(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    this.#enforced.clear()
    this.#latest = new Map()
  }

  /** Whether the status says that the policy is enforced, and does not merely lag behind this replica's Event. */
  #wasEnforced(key: string, policy: PolicyName): boolean {
    const since = enforcedSince(this.#deps.source, policy)
    return since !== undefined && since > (this.#reported.get(key) ?? -Infinity)
  }

  #writeIfStill(key: string): void {
    this.#waiting.delete(key)
    const enforcement = this.#latest.get(key)
    if (enforcement === undefined || enforcement.isEnforced || enforcement.isPending) return
    this.#enforced.delete(key)
    this.#reported.set(key, Math.floor(Date.now() / 1000))
    this.#write(enforcement).catch((error: unknown) =>
      this.#deps.onWarning(
        `the Event on ProxyPolicy ${key} cannot be written: ${errorText(error)}`,
      ),
    )
  }

  async #write({ policy, reason, message }: Enforcement): Promise<void> {
    const apiGroup = this.#apiGroup
    const { client, source, onWarning } = this.#deps
    const { namespace, name } = policy
    onWarning(`the mesh does not enforce ProxyPolicy ${namespace}/${name}: ${message}`)
    const uid = metadataText(source.raw(resourceKey('ProxyPolicy', namespace, name)) ?? {}, 'uid')
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`
    const regarding: JsonObject = {
      apiVersion: `${apiGroup}/v1alpha1`,
      kind: 'ProxyPolicy',
      namespace,
      name,
      ...(uid === undefined ? {} : { uid }),
    }
    await client.call('POST', path, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      type: 'Warning',
      action: 'Enforce',
      metadata: { namespace, generateName: `${name}-` },
      regarding,
      reason,
      note: message.slice(0, MOST_NOTE),
      reportingController: `${apiGroup}/gatehouse`,
      reportingInstance: this.#identity,
      eventTime: new Date().toISOString().replace(/Z$/, '000Z'),
    })
  }
}

/**
 * Returns since when the policy's status, as last received, says that it is enforced, in seconds; undefined: it does not.
 */
function enforcedSince(
  source: EventDeps['source'],
  { namespace, name }: PolicyName,
): number | undefined {
  const policy = source.raw(resourceKey('ProxyPolicy', namespace, name)) ?? {}
  const since = objectsOf(memberOf(policy, 'status'), 'ancestors')
    .flatMap((ancestor) => objectsOf(ancestor, 'conditions'))
    .filter(({ type, status }) => type === 'Enforced' && status === 'True')
    .map((condition) => Date.parse(textOf(condition['lastTransitionTime']) ?? '') / 1000)
  return since.length === 0
    ? undefined
    : Math.max(0, ...since.filter((time) => !Number.isNaN(time)))
}
