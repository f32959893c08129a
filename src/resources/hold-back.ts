// What the files say now, and what was in force before → what may be in force: a new route waits while a document
// that has never decoded may hold its policy. Otherwise it would be open for want of a policy that was written.

import type { FileState } from './load-resources.js'
import { keyOf } from './resource-set.js'
import type { Problem, ProviderState } from './resources.js'

/** Kinds of which a broken document cannot be the policy of a route. */
const HARMLESS = new Set([
  'ProxyBackend',
  'ProxyParameters',
  'GatewayClass',
  'Gateway',
  'HTTPRoute',
  'BackendTLSPolicy',
  'ReferenceGrant',
  'Service',
  'EndpointSlice',
  'Secret',
  'ConfigMap',
])

/** previous: the state in force. Once it was complete, it stays so: later documents leave the last good ones alone. */
export const holdBackNewRoutes = (
  { undecoded, ...state }: FileState,
  previous: ProviderState | undefined,
): ProviderState => {
  if (previous?.complete !== true) return state
  const reason = undecoded.find(({ kind }) => kind === undefined || !HARMLESS.has(kind))
  if (reason === undefined) return { ...state, complete: true }
  const known = new Set(previous.resources.httpRoutes.map(keyOf))
  const { httpRoutes } = state.resources
  const held = httpRoutes.filter((route) => !known.has(keyOf(route)))
  return {
    resources: {
      ...state.resources,
      httpRoutes: httpRoutes.filter((route) => known.has(keyOf(route))),
    },
    problems: [
      ...state.problems,
      ...held.map(({ apiVersion, kind, metadata: { namespace, name }, source }) => ({
        source: `${source}:1`,
        message: heldMessage(reason),
        apiVersion,
        kind,
        namespace,
        name,
      })),
    ],
    ...(state.notes !== undefined && { notes: state.notes }),
    complete: true,
  }
}

const heldMessage = ({ source, name }: Problem): string =>
  `waits until ${name === undefined ? 'the document' : `ProxyPolicy ${name}`} at ${source} can be decoded: it may be the policy of this route`
