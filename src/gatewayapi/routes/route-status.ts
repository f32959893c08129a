// The status of an HTTPRoute: Accepted, ResolvedRefs and PartiallyInvalid for each parent (Gateway API, RouteStatus).

import type { Condition, ResourceStatus } from '../../ir/status.js'
import type { Attachment } from '../policies/attachments.js'
import { about, isFalse, isTrue, statusOf, unsupportedNote } from '../world/conditions.js'
import type { OrderedRoute } from './route-order.js'
import type { TranslatedParent } from './route-parents.js'
import type { TranslatedRule } from './route-rules.js'
import type { HttpRoute } from './rule-routes.js'
import { isIgnored } from './unimplemented-fields.js'

export function routeStatus(
  route: HttpRoute,
  parents: readonly TranslatedParent[],
  rules: readonly TranslatedRule[],
  attachment: Attachment,
): ResourceStatus {
  const refs = resolvedRefs(rules)
  const accepted = acceptance(route, rules)
  const conditions = parents.flatMap(({ gateway, section, port, refusal }) =>
    about([...(refusal === undefined ? accepted : [refusal]), refs], {
      ancestor: gateway,
      ...(section === undefined ? {} : { section }),
      ...(port === undefined ? {} : { port }),
    }),
  )
  const isPlaced = parents.some(({ placements }) => placements.length > 0)
  return isPlaced && rules.some(({ routes }) => routes.some((one) => isOpen(one, attachment)))
    ? { ...statusOf(route, conditions), open: true }
    : statusOf(route, conditions)
}

/** Without a token, without a rule that lets it in and unseen by webhooks, a request reaches a backend. */
function isOpen({ route }: OrderedRoute, { jwt, authorization }: Attachment): boolean {
  if (route.action.type !== 'forward' || route.proc?.mode === 'guard') return false
  return (
    route.authz === undefined || (authorization === undefined && jwt?.jwt?.jwt.mode !== 'Strict')
  )
}

function acceptance(route: HttpRoute, rules: readonly TranslatedRule[]): readonly Condition[] {
  const problems = rules.flatMap((rule, index) =>
    rule.problems.map((problem) => `rules[${index}]: ${problem}`),
  )
  const ignored = route.unsupported.filter(isIgnored)
  const accepted = isTrue('Accepted', 'Accepted', `Route accepted${unsupportedNote(ignored)}`)
  if (problems.length === 0) return [accepted]
  const message = `${problems.join('\n')}\nRequests of these rules are refused`
  return rules.every((rule) => rule.problems.length > 0)
    ? [isFalse('Accepted', 'UnsupportedValue', message)]
    : [accepted, isTrue('PartiallyInvalid', 'UnsupportedValue', message)]
}

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
