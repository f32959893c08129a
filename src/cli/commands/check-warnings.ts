// Finds what is accepted and hardly meant: policies that decide nothing, open routes, rules that refuse every MCP client
// or are no conditions, limits by the text of a token, and webhooks without a deadline. `check` prints a warning for each.

import type { Resources } from '../../control/schema/kinds/resources.js'
import type { Translation } from '../../control/translate/translator.js'
import type { McpAttributes } from '../../extauthz/cel/attributes.js'
import { bareConditions, foresee, type Foreseen } from '../../extauthz/cel/foreseen.js'
import { compileRule } from '../../extauthz/cel/rule.js'
import { compileValue, RULE_VARIABLES } from '../../extauthz/cel/value.js'
import { atOnce } from '../../kit/turns.js'
import type { Authorization } from '../../model/authorization.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { PolicySource } from '../../model/policy-source.js'
import type { ProcEntry, Webhook } from '../../model/proc-entry.js'
import { resourceName } from './check-finding.js'

/** What is hardly meant, and in which resource. */
export interface Warning {
  readonly kind: 'HTTPRoute' | 'ProxyPolicy'
  readonly namespace: string
  readonly name: string
  readonly sentence: string
}

type Policy = Resources['proxyPolicies'][number]

/** Returns the warnings, each once. */
export function checkWarnings(
  { proxyPolicies }: Pick<Resources, 'proxyPolicies'>,
  { statuses, ir }: Pick<Translation, 'statuses' | 'ir'>,
): readonly Warning[] {
  const all = [
    ...statuses.flatMap((status): readonly Warning[] =>
      status.open === true
        ? [{ kind: 'HTTPRoute', namespace: status.namespace, name: status.name, sentence: OPEN }]
        : [],
    ),
    ...proxyPolicies.flatMap(policyWarnings),
    ...ir.authz.flatMap(initializeWarnings),
    ...ir.proc.flatMap(deadlineWarnings),
  ]
  const byText = new Map(
    all.map((one) => [`${resourceName(one.kind, one)} ${one.sentence}`, one] as const),
  )
  return [...byText.values()]
}

const OPEN =
  'it is open, as no policy decides who may use it; where that is meant, a policy with the rule "true" says so'

function policyWarnings({ metadata: { namespace, name }, spec }: Policy): readonly Warning[] {
  const warning = (sentence: string): Warning => ({
    kind: 'ProxyPolicy',
    namespace,
    name,
    sentence,
  })
  return [
    ...(saysNothing([spec.traffic, spec.backend]) ? [warning(NOTHING)] : []),
    ...rulesOf(spec).flatMap(({ field, source }) =>
      atOnce(compileRule(source)).ok
        ? bareConditions(source).map((value) => warning(`${field}: ${notCompared(value)}`))
        : [],
    ),
    ...(spec.traffic?.rateLimit?.local ?? []).flatMap(({ key }, index) =>
      key !== undefined && readsCredential(key)
        ? [warning(`rateLimit.local[${index}].key: ${BY_TEXT}`)]
        : [],
    ),
  ]
}

/** Whether an expression reads the text of a token: of all headers, only if it names this one. */
function readsCredential(source: string): boolean {
  const value = atOnce(compileValue(source, RULE_VARIABLES))
  const headers = value.ok ? value.value.reads.requestHeaders : 'all'
  return headers !== 'all' && headers.has('authorization')
}

const BY_TEXT =
  'a caller can write one token in several ways, and so has several buckets: key by claims, such as jwt.sub'

const NOTHING = 'it decides nothing, as none of its fields asks for anything'

const notCompared = (value: string): string =>
  `${value} is compared with nothing, and counts against the caller unless it is true or false: for a list write "x" in ${value}, for a text ${value} == "x", for true or false ${value} == true`

/** Whether a field asks for nothing: absent, an empty list, or a group of such fields. */
const saysNothing = (value: unknown): boolean =>
  value === undefined ||
  (typeof value === 'object' && value !== null && Object.values(value).every(saysNothing))

interface WrittenRule {
  readonly field: string
  readonly source: string
}

function rulesOf({ traffic }: Policy['spec']): readonly WrittenRule[] {
  const { matchExpressions = [], requiredScopes = [] } = traffic?.authorization?.policy ?? {}
  return [
    ...matchExpressions.map((source, index) => ({ field: `matchExpressions[${index}]`, source })),
    ...requiredScopes.flatMap(({ when }, index) =>
      when === undefined ? [] : [{ field: `requiredScopes[${index}].when`, source: when }],
    ),
  ]
}

const INITIALIZE: McpAttributes = {
  method: 'initialize',
  id: 1,
  protocolVersion: '2025-11-25',
  toolName: '',
  promptName: '',
  resourceUri: '',
  toolArguments: () => new Map<string, never>(),
}

function initializeWarnings({ route, authorization, audit }: AuthzEntry): readonly Warning[] {
  return [authorization, audit?.authorization].flatMap((rules) =>
    rules === undefined ? [] : refusalsOfInitialize(rules, route),
  )
}

/** Decision 4: a Deny that is true or fails denies, as do a Require that is not true, and Allows of which none is. */
function refusalsOfInitialize(rules: Authorization, route: string): readonly Warning[] {
  const gives = (source: string, results: readonly Foreseen[]): boolean =>
    results.includes(foresee(source, INITIALIZE))
  const { deny, require, allow } = rules
  const refusing: readonly Policied['action'][] = [
    ...(deny.some((source) => readsMcp(source) && gives(source, ['true', 'error']))
      ? (['Deny'] as const)
      : []),
    ...(require.some((source) => readsMcp(source) && gives(source, ['false', 'error']))
      ? (['Require'] as const)
      : []),
    ...(allow.some(readsMcp) && allow.every((source) => gives(source, ['false', 'error']))
      ? (['Allow'] as const)
      : []),
  ]
  return refusing.flatMap((action) =>
    (rules.policies ?? [])
      .filter((one) => one.action === action && one.rules > 0)
      .slice(0, 1)
      .map((policy) => ofPolicy(policy, refusesInitialize(action, route))),
  )
}

function readsMcp(source: string): boolean {
  const rule = atOnce(compileRule(source))
  return rule.ok && rule.value.reads.roots.has('mcp')
}

type Policied = NonNullable<Authorization['policies']>[number]

const refusesInitialize = (action: Policied['action'], route: string): string =>
  `its rules (${action}) refuse initialize on HTTPRoute ${route}, so that no MCP client can connect: let other methods in with mcp.method != "tools/call" ||`

function ofPolicy({ policy }: PolicySource, sentence: string): Warning {
  const [namespace = '', name = ''] = policy.split('/')
  return { kind: 'ProxyPolicy', namespace, name, sentence }
}

function deadlineWarnings(entry: ProcEntry): readonly Warning[] {
  if (entry.type !== 'guard' && entry.type !== 'mcp-guard') return []
  const { policy } = entry
  if (policy === undefined) return []
  const field = entry.type === 'guard' ? 'promptGuard' : 'mcp.guard'
  return (['request', 'response'] as const).flatMap((phase) =>
    entry[phase].flatMap((webhook, index) =>
      webhook.deadlineMs === undefined
        ? [ofPolicy(policy, noDeadline(`${field}.${phase}[${webhook.index ?? index}]`, webhook))]
        : [],
    ),
  )
}

const noDeadline = (place: string, { target }: Webhook): string =>
  `${place}.webhook has no deadline, so that a request waits for ${target.url} as long as its client does: set backend.http.requestTimeout in a ProxyPolicy that targets its backend`
