// The status of an HTTPRoute: Accepted, ResolvedRefs and PartiallyInvalid for each parent (Gateway API, RouteStatus).

import { type Condition, type ResourceStatus, WITHOUT_POLICY } from '../../ir/status.js'
import { about, isFalse, isTrue, statusOf, unsupportedNote } from '../world/conditions.js'
import { gatewayKey } from '../world/world.js'
import type { TranslatedParent } from './route-parents.js'
import type { TranslatedRule } from './route-rules.js'
import type { RouteScope } from './route-scopes.js'
import type { HttpRoute } from './rule-routes.js'
import { isIgnored } from './unimplemented-fields.js'

/** The rules of a route, as they are in one of its scopes. */
export interface ScopedRules {
  readonly scope: RouteScope
  readonly rules: readonly TranslatedRule[]
}

export function routeStatus(
  route: HttpRoute,
  parents: readonly TranslatedParent[],
  scoped: readonly ScopedRules[],
): ResourceStatus {
  // Of what the HTTPRoute itself says, the rules of each scope say the same.
  const rules = scoped[0]?.rules ?? []
  const refs = resolvedRefs(rules)
  const closed = new Set(
    scoped
      .filter(({ scope }) => scope.lacksPolicy)
      .flatMap(({ scope }) => scope.gateways.map(gatewayKey)),
  )
  const conditions = parents.flatMap(({ gateway, section, port, refusal }) =>
    about(
      [
        ...(refusal === undefined
          ? acceptance(route, rules, closed.has(gatewayKey(gateway)))
          : [refusal]),
        refs,
      ],
      {
        ancestor: gateway,
        ...(section === undefined ? {} : { section }),
        ...(port === undefined ? {} : { port }),
      },
    ),
  )
  return scoped.some(isOpen)
    ? { ...statusOf(route, conditions), open: true }
    : statusOf(route, conditions)
}

/** Requests reach a backend, and no policy decides who may send them. */
const isOpen = ({ scope, rules }: ScopedRules): boolean =>
  scope.placements.length > 0 &&
  !scope.attachment.decides &&
  rules.some(({ routes }) => routes.some(({ route }) => route.action.type === 'forward'))

function acceptance(
  route: HttpRoute,
  rules: readonly TranslatedRule[],
  lacksPolicy: boolean,
): readonly Condition[] {
  const problems = rules.flatMap((rule, index) =>
    rule.problems.map((problem) => `rules[${index}]: ${problem}`),
  )
  const ignored = route.unsupported.filter(isIgnored)
  const text = `Route accepted${unsupportedNote(ignored)}`
  const accepted = lacksPolicy
    ? isTrue('Accepted', WITHOUT_POLICY, `${text}\n${LACKS_POLICY}`)
    : isTrue('Accepted', 'Accepted', text)
  if (problems.length === 0) return [accepted]
  const message = `${problems.join('\n')}\nRequests of these rules are refused`
  return rules.every((rule) => rule.problems.length > 0)
    ? [isFalse('Accepted', 'UnsupportedValue', message)]
    : [accepted, isTrue('PartiallyInvalid', 'UnsupportedValue', message)]
}

const LACKS_POLICY =
  'All requests are answered 503: no ProxyPolicy on it requires a token or has rules, and its Gateway requires one that does'

function resolvedRefs(rules: readonly TranslatedRule[]): Condition {
  const problems = rules.flatMap(({ refProblems }) => refProblems)
  const notes = rules.flatMap(({ refNotes }) => refNotes)
  const [first] = problems
  const said = (messages: readonly string[]): string => [...new Set(messages)].join('\n')
  return first === undefined
    ? isTrue('ResolvedRefs', 'ResolvedRefs', said(['All references resolved', ...notes]))
    : isFalse(
        'ResolvedRefs',
        first.reason,
        said([...problems.map(({ message }) => message), ...notes]),
      )
}
