// Finds reasons why an HTTPRoute of a mesh cannot be exported: each is reported, and nothing is dropped silently.

import { isListenerSet } from '../../ir/mesh-route.js'
import { guardsMcp } from '../policies/attachments.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'

/** Reports ListenerSets, also of the experimental kind, to whose listeners no mesh is known to apply what is exported. */
export const listenerSetProblems = ({ spec, metadata }: HttpRoute): readonly string[] =>
  spec.parentRefs
    .filter(isListenerSet)
    .map(
      ({ kind, namespace = metadata.namespace, name }) =>
        `${kind} ${namespace}/${name} is its parent: policies cannot be carried to the listeners of a mesh's ListenerSets; expected a Gateway as its only parent`,
    )

/** Reports policy fields that cannot be exported to a mesh: they must not be dropped silently. */
export const ofOwnEnvoys = ({ attachment, audited }: RuleInput): readonly string[] =>
  [
    attachment.rateLimit && 'traffic.rateLimit',
    attachment.transformation && 'traffic.transformation',
    audited &&
      `${guardsMcp(attachment) ? 'backend.mcp.guard' : 'backend.ai.promptGuard'} in mode Audit`,
    attachment.mcpGuard && 'backend.mcp.guard',
  ].flatMap((field) =>
    field === undefined
      ? []
      : [
          `${field} is for Envoys that Gatehouse configures: expected the mesh's own policy for that`,
        ],
  )

/** Reports rules whose own timeout is longer: it makes the mesh ignore the policy's. */
export const timeoutProblems = (
  { spec }: HttpRoute,
  policyMs: number | undefined,
): readonly string[] =>
  spec.rules.flatMap(({ timeouts: { request } }, index) =>
    policyMs === undefined || request === undefined || (request > 0 && request <= policyMs)
      ? []
      : [
          `rules[${index}].timeouts.request is longer than backend.http.requestTimeout of its Service, which it would replace: shorten it`,
        ],
  )
