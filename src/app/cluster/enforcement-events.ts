// Records a warning Event on each ProxyPolicy that the mesh no longer enforces for some seconds.

import type { Enforcement } from '../../controller/enforcement.js'
import { memberOf, objectsOf } from '../../controller/json-members.js'
import { errorText } from '../../errors.js'
import type { JsonObject } from '../../ir/json.js'
import type { PolicyName } from '../../ir/mesh-route.js'
import { resourceKey } from '../../resources/decode/resource-set.js'
import { metadataText } from '../../resources/kubernetes/applier.js'
import type { KubernetesClient } from '../../resources/kubernetes/client.js'
import type { KubernetesProvider } from '../../resources/kubernetes/provider.js'
import type { Settings } from '../../settings.js'
import { leaseOf } from './lease-of.js'

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

/** Returns a function that compares two states. An Event that cannot be written is a line in the log. */
export function createEnforcementEvents(
  { apiGroup, environment }: Settings,
  { client, source, onWarning }: EventDeps,
): (now: Enforcements, before: Enforcements) => void {
  const { identity } = leaseOf(environment)
  const write = async ({ policy, reason, message }: Enforcement): Promise<void> => {
    const { namespace, name } = policy
    onWarning(`the mesh does not enforce ProxyPolicy ${namespace}/${name}: ${message}`)
    const uid = metadataText(source.raw(resourceKey('ProxyPolicy', namespace, name)) ?? {}, 'uid')
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`
    const regarding: JsonObject = {
      ...{ apiVersion: `${apiGroup}/v1alpha1`, kind: 'ProxyPolicy', namespace, name },
      ...(uid === undefined ? {} : { uid }),
    }
    await client.call('POST', path, {
      ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', type: 'Warning', action: 'Enforce' },
      metadata: { namespace, generateName: `${name}-` },
      ...{ regarding, reason, note: message.slice(0, MOST_NOTE) },
      reportingController: `${apiGroup}/gatehouse`,
      reportingInstance: identity.slice(0, 128),
      eventTime: new Date().toISOString().replace(/Z$/, '000Z'),
    })
  }
  const waiting = new Set<string>()
  /** Policies that were enforced when last known, and have no Event yet that they are not. */
  const enforced = new Set<string>()
  let latest: Enforcements = new Map()
  const writeIfStill = (key: string): void => {
    waiting.delete(key)
    const enforcement = latest.get(key)
    if (enforcement === undefined || enforcement.isEnforced || enforcement.isPending) return
    enforced.delete(key)
    write(enforcement).catch((error: unknown) =>
      onWarning(`the Event on ProxyPolicy ${key} cannot be written: ${errorText(error)}`),
    )
  }
  return (now, before) => {
    latest = now
    for (const key of enforced) if (!now.has(key)) enforced.delete(key)
    for (const [key, { policy, isEnforced, isPending }] of now) {
      // Another replica may have reported until now: the status says what it knew.
      if (isEnforced || (!before.has(key) && wasEnforced(source, policy))) enforced.add(key)
      if (isEnforced || isPending || !enforced.has(key) || waiting.has(key)) continue
      waiting.add(key)
      setTimeout(() => writeIfStill(key), SETTLED_MS).unref()
    }
  }
}

/** Whether the policy's status, as last received, says that it is enforced. */
function wasEnforced(source: EventDeps['source'], { namespace, name }: PolicyName): boolean {
  const policy = source.raw(resourceKey('ProxyPolicy', namespace, name)) ?? {}
  return objectsOf(memberOf(policy, 'status'), 'ancestors')
    .flatMap((ancestor) => objectsOf(ancestor, 'conditions'))
    .some(({ type, status }) => type === 'Enforced' && status === 'True')
}
