// Builds the status of an HTTPRoute: Accepted, ResolvedRefs and PartiallyInvalid for each parent (Gateway API,
// RouteStatus).

import {
  asSentence,
  type Condition,
  nameFor,
  type ResourceStatus,
  WITHOUT_POLICY,
} from '../../../model/status.js'
import {
  about,
  isFalse,
  isTrue,
  statusOf,
  uniqueLines,
  unsupportedNote,
} from '../world/conditions.js'
import type { TranslatedParent } from './route-parents.js'
import type { TranslatedRule } from './route-rules.js'
import { listenerPlace, type RouteScope } from './route-scopes.js'
import type { HttpRoute } from './rule-routes.js'
import { isIgnored } from './unimplemented-fields.js'

/** The translated rules of a route in one of its scopes. */
export interface ScopedRules {
  readonly scope: RouteScope
  readonly rules: readonly TranslatedRule[]
}

/** Builds the status of an HTTPRoute. */
export function routeStatus(
  route: HttpRoute,
  parents: readonly TranslatedParent[],
  scoped: readonly ScopedRules[],
): ResourceStatus {
  // Problems of the HTTPRoute itself are the same in every scope.
  const rules = scoped[0]?.rules ?? []
  const conditions = parents.flatMap(({ gateway, set, section, port, listeners, refusal }) => {
    const places = listeners.map(({ id }) => listenerPlace(gateway, id))
    const own = scoped.filter(({ scope }) => scope.listeners.some((one) => places.includes(one)))
    const accepted =
      refusal === undefined
        ? acceptance(
            route,
            rules,
            own.map(({ scope }) => scope),
          )
        : [refusal]
    // A Gateway's client certificate concerns its own scopes alone.
    const refs = own.length === 0 ? rules : own.flatMap((one) => one.rules)
    return about([...accepted, resolvedRefs(refs)], {
      ancestor: set === undefined ? gateway : { kind: 'ListenerSet', ...set },
      ...(section === undefined ? {} : { section }),
      ...(port === undefined ? {} : { port }),
    })
  })
  return scoped.some(isOpen)
    ? { ...statusOf(route, conditions), open: true }
    : statusOf(route, conditions)
}

/** Whether requests reach a backend without a policy that decides who may send them. */
const isOpen = ({ scope, rules }: ScopedRules): boolean =>
  scope.placements.length > 0 &&
  !scope.attachment.decides &&
  rules.some(({ routes }) => routes.some(({ route }) => route.action.type === 'forward'))

function acceptance(
  route: HttpRoute,
  rules: readonly TranslatedRule[],
  scopes: readonly RouteScope[],
): readonly Condition[] {
  const problems = rules.flatMap((rule, index) =>
    rule.problems.map((problem) => `rules[${index}]: ${problem}`),
  )
  const ignored = route.unsupported.filter(isIgnored)
  const text = [
    `Route accepted${unsupportedNote(ignored)}`,
    ...scopes.flatMap((scope) => inheritedLines(route, scope)),
    ...scopes.flatMap((scope) => auditLines(route, scope)),
  ]
  const accepted = scopes.some(({ lacksPolicy }) => lacksPolicy)
    ? isTrue('Accepted', WITHOUT_POLICY, uniqueLines([...text, LACKS_POLICY]))
    : isTrue('Accepted', 'Accepted', uniqueLines(text))
  if (problems.length === 0) return [accepted]
  const message = `${problems.join('\n')}\nRequests of these rules are refused`
  return rules.every((rule) => rule.problems.length > 0)
    ? [isFalse('Accepted', 'UnsupportedValue', message)]
    : [accepted, isTrue('PartiallyInvalid', 'UnsupportedValue', message)]
}

/** Reports the Gateway's policies in force, which the owner of the route may not be able to see. */
const inheritedLines = (
  { metadata: { namespace } }: HttpRoute,
  { inherited, attachment }: RouteScope,
): readonly string[] =>
  inherited
    .filter(({ inForce }) => inForce.length > 0)
    .flatMap(({ policy, isValid, isAudited, inForce, from }) => {
      const name = nameFor(namespace, 'ProxyPolicy', policy)
      const conflict = attachment.conflicts.get(policy)
      if (isAudited)
        return isValid ? [`Audited: ${inForce.join(', ')} of ${name}, by its ${from}`] : []
      const refusal = isValid
        ? attachment.broken.includes(policy) && conflict
        : 'it is not valid: the route refuses all traffic'
      return typeof refusal === 'string'
        ? [`${asSentence(name)} of its ${from}: ${refusal}`]
        : [`In force: ${inForce.join(', ')} of ${name}, by its ${from}`]
    })

/** Reports that policies of mode Audit leave the route open. */
function auditLines(
  { metadata: { namespace } }: HttpRoute,
  { attachment, lacksPolicy }: RouteScope,
): readonly string[] {
  const names =
    attachment.audit?.policies.map(({ key }) => nameFor(namespace, 'ProxyPolicy', key)) ?? []
  if (names.length === 0 || attachment.decides || attachment.broken.length > 0 || lacksPolicy)
    return []
  return [
    `Open to everyone, as ${[...new Set(names)].join(', ')} of mode Audit refuses nothing and no other policy decides`,
  ]
}

const LACKS_POLICY =
  'All requests are answered 503: no ProxyPolicy on it requires a token or has rules, and its Gateway requires one that does'

function resolvedRefs(rules: readonly TranslatedRule[]): Condition {
  const problems = rules.flatMap(({ refProblems }) => refProblems)
  const notes = rules.flatMap(({ refNotes }) => refNotes)
  const [first] = problems
  return first === undefined
    ? isTrue('ResolvedRefs', 'ResolvedRefs', uniqueLines(['All references resolved', ...notes]))
    : isFalse(
        'ResolvedRefs',
        first.reason,
        uniqueLines([...problems.map(({ message }) => message), ...notes]),
      )
}
