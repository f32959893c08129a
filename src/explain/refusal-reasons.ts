// Finds out why a route refuses every request: the conditions that report a problem of it or of a policy for it.

import type { Route } from '../ir/route.js'
import { isBad, type ResourceStatus } from '../ir/status.js'
import type { Resources } from '../resources/kinds/resources.js'

/** The resources and their statuses. */
export interface RefusalSources {
  readonly statuses: readonly ResourceStatus[]
  readonly resources: Pick<Resources, 'proxyPolicies'>
}

/** Returns a sentence for each bad condition of the HTTPRoute, and of policies that may be for it. */
export function refusalReasons(
  { name }: Route,
  { statuses, resources }: RefusalSources,
): readonly string[] {
  const isFor = (namespace: string, httpRoute: string): boolean =>
    name.startsWith(`${namespace}/${httpRoute}/`)
  const policies = new Set(
    resources.proxyPolicies
      .filter(({ metadata, spec }) =>
        spec.targetRefs.some(({ kind, name: target }) =>
          kind === 'HTTPRoute' ? isFor(metadata.namespace, target) : kind === 'Gateway',
        ),
      )
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
  )
  const isOfRoute = ({ kind, namespace: own, name: named }: ResourceStatus): boolean =>
    kind === 'HTTPRoute' && isFor(own, named)
  const isOfPolicy = ({ kind, namespace: own, name: named }: ResourceStatus): boolean =>
    kind === 'ProxyPolicy' && policies.has(`${own}/${named}`)
  const sentences = statuses.flatMap((status) =>
    status.conditions
      .filter(
        (condition) =>
          isBad(condition) &&
          (isOfRoute(status) || (isOfPolicy(status) && condition.type === 'Accepted')),
      )
      .map(
        ({ type, reason, message }) =>
          `${status.kind} ${status.namespace}/${status.name}: ${type} (${reason}): ${message.replaceAll('\n', '; ')}`,
      ),
  )
  return [...new Set(sentences)]
}
