// Lists the policies of a route with the parts that apply, and says what limits, header changes and webhooks do to an
// allowed request.

import type { AuthzAudit, AuthzEntry } from '../../model/authz-entry.js'
import type { PolicyField, PolicySource } from '../../model/policy-source.js'
import type { ProcEntry, Webhook } from '../../model/proc-entry.js'
import type { Limits, LocalLimit, Route } from '../../model/route.js'
import type { ExplainedPolicy } from './explanation.js'
import type { RouteEntries } from './route-parts.js'

/** Returns the policies of the route, those in force first, each once, with the parts that come from it. */
export function policiesOf(
  { policyFields = [] }: Route,
  { authz, proc, procAudit }: RouteEntries,
): readonly ExplainedPolicy[] {
  const found = new Found()
  if (authz?.isClosed === true) found.add(authz.policy, 'not valid')
  if (authz !== undefined) addJudging(found, authz, '')
  if (authz?.filterLists === true) found.add(authz.policy, 'mcp.filterLists')
  if (authz?.session !== undefined) found.add(authz.policy, 'mcp.bindSession')
  if (proc !== undefined) addProcessing(found, proc)
  const [inForce, audited] = [policyFields.filter(isInForce), policyFields.filter(isAudited)]
  for (const { field, ...from } of inForce) found.add(from, field)
  if (authz?.audit !== undefined)
    addJudging(found, withoutBorrowed(authz.audit, authz.policy), AUDIT)
  if (procAudit !== undefined) addProcessing(found, procAudit)
  for (const { field, effect, ...from } of audited) found.add(from, `${field}${EFFECTS[effect]}`)
  return found.all()
}

const AUDIT = 'mode Audit'

const isInForce = ({ effect }: PolicyField): boolean => effect === 'enforced'
const isAudited = (field: PolicyField): boolean => !isInForce(field)

const EFFECTS: Readonly<Record<PolicyField['effect'], string>> = {
  enforced: '',
  audited: ` (${AUDIT})`,
  'audited in part': ` (${AUDIT}; limits with a key are not counted)`,
  ignored: ` (${AUDIT}: no effect)`,
}

/** Collects policies in the order in which they are first named. */
class Found {
  readonly #policies = new Map<string, { from: PolicySource; parts: string[] }>()

  add(from: PolicySource | undefined, part: string): void {
    if (from === undefined) return
    const known = this.#policies.get(from.policy) ?? { from, parts: [] }
    if (!known.parts.includes(part)) known.parts.push(part)
    this.#policies.set(from.policy, known)
  }

  all(): readonly ExplainedPolicy[] {
    return [...this.#policies.values()].map(({ from: { policy, source }, parts }) => ({
      policy,
      source,
      parts,
    }))
  }
}

/** An audit without a token of its own judges by that of the policy in force, which is no policy of mode Audit. */
const withoutBorrowed = (
  { authorization, ...token }: AuthzAudit,
  inForce: PolicySource | undefined,
): AuthzAudit => ({
  ...(token.policy?.policy === inForce?.policy ? {} : token),
  ...(authorization && { authorization }),
})

function addJudging(
  found: Found,
  { jwt, policy, authorization, allowedOrigins }: AuthzAudit,
  mode: string,
): void {
  const part = (...details: readonly string[]): string => {
    const words = [...details, mode].filter((word) => word !== '')
    return words.length === 0 ? '' : ` (${words.join(', ')})`
  }
  if (jwt !== undefined) found.add(policy, `jwtAuthentication${part(jwt.mode)}`)
  if (allowedOrigins !== undefined) found.add(policy, `mcp.allowedOrigins${part()}`)
  for (const each of authorization?.policies ?? []) {
    if (each.rules > 0) found.add(each, `authorization${part(each.action)}`)
    if (each.scopes > 0) found.add(each, `requiredScopes${part()}`)
  }
}

function addProcessing(found: Found, entry: ProcEntry): void {
  switch (entry.type) {
    case 'guard':
      return found.add(entry.policy, 'promptGuard')
    case 'mcp-guard':
      return found.add(entry.policy, 'mcp.guard')
    case 'well-known':
      return found.add(entry.policy, 'mcp')
    case 'lists':
    case 'sessions':
    case 'unchecked-body':
      return
    case 'guard-audit':
    case 'mcp-guard-audit': {
      const guard = entry.type === 'guard-audit' ? 'promptGuard' : 'mcp.guard'
      for (const { policy } of [...entry.request, ...entry.response])
        found.add(policy, `${guard} (webhooks of ${AUDIT})`)
    }
  }
}

/** Describes, in notes, how an allowed request is processed after the check. */
export function laterNotes(route: Route, entries: RouteEntries): readonly string[] {
  const { authz, proc, procAudit } = entries
  const { limits, limitsAudit } = route
  return [
    ...(limits === undefined
      ? []
      : [`Rate limits, beyond which the answer is 429: ${limitsText(limits)}. ${NOT_KNOWN}`]),
    ...(limitsAudit === undefined
      ? []
      : [`Rate limits of mode Audit, which only count: ${limitsText(limitsAudit)}. ${NOT_KNOWN}`]),
    ...headerNotes(route, entries),
    ...(proc?.type === 'guard' || proc?.type === 'mcp-guard'
      ? [
          `Webhooks are asked, in this order: ${webhooksText(proc)}. They may change or reject the texts`,
        ]
      : []),
    ...(procAudit?.type === 'guard-audit' || procAudit?.type === 'mcp-guard-audit'
      ? [`Webhooks of mode Audit get copies, and change nothing: ${webhooksText(procAudit)}`]
      : []),
    ...(authz?.filterLists === true
      ? ['Lists in the reply lose the items that the rules deny']
      : []),
    ...(authz?.session === undefined
      ? []
      : ['A session that the server names is sealed: it is good for this caller alone']),
  ]
}

const NOT_KNOWN = 'How much of them is used is not known here'

const limitsText = ({ local }: Limits): string => local.map(limitText).join('; ')

function limitText({ requests, perMs, burst, isKeyed }: LocalLimit): string {
  const more = burst === requests ? '' : `, up to ${String(burst)} at once`
  const each = isKeyed ? ', for each key' : ''
  return `${String(requests)} request${requests === 1 ? '' : 's'} per ${String(perMs / 1000)} s${more}${each}`
}

interface Phases {
  readonly request: readonly Pick<Webhook, 'backend' | 'deadlineMs'>[]
  readonly response: Phases['request']
}

function webhooksText({ request, response }: Phases): string {
  const names = (list: Phases['request']): string =>
    list
      .map(({ backend, deadlineMs: most }) =>
        most === undefined ? backend : `${backend} (within ${String(most)} ms)`,
      )
      .join(', ') || 'none'
  return `for the request ${names(request)}; for the reply ${names(response)}`
}

/** Names the headers that change, without values, which may hold claims. */
function headerNotes(
  { policyFields = [], responseHeaders }: Route,
  { authz }: RouteEntries,
): readonly string[] {
  const isChanged = policyFields.some(
    ({ field, effect }) => field === 'transformation' && effect === 'enforced',
  )
  if (!isChanged) return []
  const { request, response } = authz?.transformation ?? {}
  const set = namesOf(response?.set)
  const removed = responseHeaders?.remove.filter((name) => !set.includes(name)) ?? []
  return [
    ...changeNote('request', [
      ...listed('sets', namesOf(request?.set)),
      ...listed('adds', namesOf(request?.add)),
      ...listed('removes', request?.remove ?? []),
    ]),
    ...changeNote('reply', [...listed('sets', set), ...listed('removes', removed)]),
  ]
}

const namesOf = (headers: readonly { readonly name: string }[] = []): readonly string[] =>
  headers.map(({ name }) => name)

const listed = (verb: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${verb} ${names.join(', ')}`]

const changeNote = (of: string, changes: readonly string[]): readonly string[] =>
  changes.length === 0
    ? []
    : [`The transformation changes headers of the ${of}: ${changes.join('; ')}`]

/** Says why a request is allowed. token: whether the check has verified one. */
export function allowedText(
  authz: AuthzEntry | undefined,
  policies: readonly ExplainedPolicy[],
  hasToken: boolean,
): string {
  if (hasToken) return 'allowed with the claims of the token'
  if (authz?.authorization !== undefined) return 'allowed without claims'
  const parts = policies.flatMap((policy) => policy.parts)
  if (parts.length === 0) return `${OPEN}: it has none`
  const inForce = parts.filter((part) => !part.includes(AUDIT))
  return inForce.length === 0
    ? `${OPEN}: its policies have mode Audit, which denies nothing`
    : `${OPEN}: its policies set only ${inForce.join(', ')}`
}

const OPEN = 'no policy decides who may use this route'
