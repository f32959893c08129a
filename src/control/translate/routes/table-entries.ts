// Builds the table entries of one rule, for ext_authz and ext_proc, from its routes and the policies in force.

import { compareText } from '../../../kit/incremental/sorted-list.js'
import type { AuthzEntry } from '../../../model/authz-entry.js'
import {
  guardAuditKey,
  listsKey,
  mcpGuardKey,
  sessionsKey,
  uncheckedBodyKey,
} from '../../../model/names.js'
import type { PolicySource } from '../../../model/policy-source.js'
import type {
  GuardAuditEntry,
  GuardEntry,
  ListsEntry,
  McpGuardAuditEntry,
  McpGuardEntry,
  ProcEntry,
  SessionsEntry,
  UncheckedBodyEntry,
  WellKnownEntry,
} from '../../../model/proc-entry.js'
import type { PathMatch } from '../../../model/route.js'
import type { SessionBinding } from '../../../model/session-binding.js'
import { type Attachment, auditsAuthz, enforcesAuthz, guardsMcp } from '../policies/attachments.js'
import type { Mcp } from '../policies/mcp.js'
import type { TranslatedPolicy } from '../policies/policies.js'
import { keyOf } from '../world/world.js'
import type { OrderedRoute } from './hosts/route-order.js'
import { keyOfRule, type RuleInput } from './rule-routes.js'
import { requiresToken } from './unchecked-bodies.js'
import { mcpPathsOf } from './well-known-routes.js'

/** Returns no entry if no route of the rule asks ext_authz. */
export const authzEntry = (
  input: RuleInput,
  routes: readonly OrderedRoute[],
): readonly AuthzEntry[] =>
  authzEntryOf(
    input,
    routes.filter(({ route }) => route.authz !== undefined).map(({ route }) => route.match.path),
  )

/** Returns no entry if paths is empty. */
export function authzEntryOf(input: RuleInput, paths: readonly PathMatch[]): readonly AuthzEntry[] {
  if (paths.length === 0) return []
  const { jwt, authorization, rateLimit, transformation } = input.attachment
  const mcp = jwt?.jwt?.mcp
  const of = { key: keyOfRule(input), route: keyOf(input.route), paths: sortedPaths(paths) }
  if (input.refusals.length > 0) return [{ ...of, isClosed: true, ...closedBy(input) }]
  if (input.lacksPolicy) return [{ ...of, lacksPolicy: true }]
  return [
    {
      ...of,
      ...(jwt?.jwt === undefined ? {} : { jwt: jwt.jwt.jwt, policy: sourceOf(jwt) }),
      ...(authorization === undefined ? {} : { authorization }),
      ...(rateLimit === undefined || rateLimit.keys.length === 0
        ? {}
        : { limitKeys: rateLimit.keys }),
      ...(transformation?.transformation === undefined
        ? {}
        : { transformation: transformation.transformation }),
      ...(input.attachment.filtersLists ? { filterLists: true as const } : {}),
      ...(mcp === undefined
        ? {}
        : {
            ...sessionOf(input),
            ...(mcp.spec.allowedOrigins === undefined
              ? {}
              : { allowedOrigins: mcp.spec.allowedOrigins }),
            challenge: {
              paths: mcpPathsOf(mcp, input.route.spec),
              details: mcp.spec.challengeDetails,
              scopes: mcp.spec.resourceMetadata?.scopesSupported ?? [],
            },
          }),
      ...auditOf(input),
    },
  ]
}

/** Returns what the sessions of the rule are bound to, if they are. */
function sessionOf({ attachment }: RuleInput): { readonly session?: SessionBinding } {
  const session = attachment.jwt?.jwt?.mcp?.session
  return session === undefined ? {} : { session }
}

/** Returns what policies of mode Audit add. Without tokens of their own, their rules are about those in force. */
function auditOf({ attachment }: RuleInput): Pick<AuthzEntry, 'audit' | 'isAudited'> {
  const { audit } = attachment
  if (audit === undefined || !auditsAuthz(attachment)) return {}
  const jwt = audit.jwt ?? attachment.jwt
  const allowedOrigins = audit.jwt?.jwt?.mcp?.spec.allowedOrigins
  return {
    audit: {
      ...(jwt?.jwt === undefined ? {} : { jwt: jwt.jwt.jwt, policy: sourceOf(jwt) }),
      ...(audit.authorization === undefined ? {} : { authorization: audit.authorization }),
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
    },
    ...(enforcesAuthz(attachment) ? {} : { isAudited: true }),
  }
}

const sourceOf = ({ key, policy }: TranslatedPolicy): PolicySource => ({
  policy: key,
  source: policy.source,
})

/** Returns no entry if no route of the rule uses ext_proc. */
export function procEntry(input: RuleInput, routes: readonly OrderedRoute[]): readonly ProcEntry[] {
  const modes = new Set(routes.map(({ route }) => route.proc?.mode))
  const mcp = input.attachment.jwt?.jwt?.mcp
  const isAudited = routes.some(({ route }) => route.procAudit !== undefined)
  const guards = [
    ...(modes.has('guard') ? [...guardEntry(input), ...mcpGuardEntry(input)] : []),
    ...(isAudited ? guardAuditEntry(input) : []),
    ...(routes.some(({ route }) => route.uncheckedBody !== undefined) ? bodyEntry(input) : []),
  ]
  if (mcp === undefined) return guards
  return [
    ...(modes.has('well-known') ? [wellKnownEntry(input, mcp)] : []),
    ...guards,
    ...(modes.has('lists') ? listsEntry(input) : []),
    ...(modes.has('sessions') ? sessionsEntry(input) : []),
  ]
}

/** Returns no entry if no webhook guards the rule's LLM traffic. */
export function guardEntry(input: RuleInput): readonly GuardEntry[] {
  const { guard, mcpGuard } = input.attachment
  if (input.webhooks === undefined || mcpGuard !== undefined) return []
  const of = { key: keyOfRule(input), route: keyOf(input.route) }
  const signedTexts = guard?.policy.spec.backend?.ai?.promptGuard?.signedTexts
  return [
    {
      type: 'guard',
      ...of,
      ...(guard && { policy: sourceOf(guard) }),
      ...input.webhooks,
      ...(signedTexts === 'Refuse' && { signedTexts }),
    },
  ]
}

/** Returns no entry if no webhook is audited. */
function guardAuditEntry(input: RuleInput): readonly (GuardAuditEntry | McpGuardAuditEntry)[] {
  const { audited, attachment } = input
  if (audited === undefined) return []
  const of = { key: guardAuditKey(keyOfRule(input)), route: keyOf(input.route), ...audited }
  if (!guardsMcp(attachment)) return [{ type: 'guard-audit', ...of }]
  return [
    {
      type: 'mcp-guard-audit',
      ...of,
      ...(audited.response.length > 0 ? filteredBy(attachment) : {}),
    },
  ]
}

/** Returns the rules that lists are filtered by; webhooks see filtered lists. */
const filteredBy = ({
  filtersLists,
  authorization,
}: Attachment): Pick<McpGuardEntry, 'authorization'> =>
  filtersLists && authorization !== undefined ? { authorization } : {}

/** Returns no entry if no webhook guards the rule's MCP traffic. */
function mcpGuardEntry(input: RuleInput): readonly McpGuardEntry[] {
  const { mcpGuard } = input.attachment
  if (input.webhooks === undefined || mcpGuard === undefined) return []
  const of = { key: mcpGuardKey(keyOfRule(input)), route: keyOf(input.route) }
  const lists = filteredBy(input.attachment)
  return [
    {
      type: 'mcp-guard',
      ...of,
      policy: sourceOf(mcpGuard),
      ...input.webhooks,
      ...lists,
      ...sessionOf(input),
    },
  ]
}

const bodyEntry = (input: RuleInput): readonly UncheckedBodyEntry[] => [
  {
    type: 'unchecked-body',
    key: uncheckedBodyKey(keyOfRule(input)),
    route: keyOf(input.route),
    ...policyOf(input),
    ...(requiresToken(input.attachment) ? {} : { isAnonymous: true }),
    maxBodyBytes: input.mcpBodyBytes,
  },
]

/** Returns no entry if no policy of the route has rules. */
export function listsEntry(input: RuleInput): readonly ListsEntry[] {
  const { authorization } = input.attachment
  if (authorization === undefined) return []
  const of = { key: listsKey(keyOfRule(input)), route: keyOf(input.route) }
  return [{ type: 'lists', ...of, ...policyOf(input), authorization, ...sessionOf(input) }]
}

/** Returns no entry if sessions are bound to nobody. */
export function sessionsEntry(input: RuleInput): readonly SessionsEntry[] {
  const { session } = sessionOf(input)
  if (session === undefined) return []
  const of = { key: sessionsKey(keyOfRule(input)), route: keyOf(input.route) }
  return [{ type: 'sessions', ...of, ...policyOf(input), session }]
}

/** Returns the first policy that is not valid. */
function closedBy({ refusals, attachment }: RuleInput): { readonly policy?: PolicySource } {
  const policy = attachment.policies.find(({ key }) => refusals.includes(key))
  return policy === undefined ? {} : { policy: sourceOf(policy) }
}

/** Returns the policy with jwtAuthentication, and with it mcp. */
const policyOf = ({ attachment: { jwt } }: RuleInput): { readonly policy?: PolicySource } =>
  jwt === undefined ? {} : { policy: sourceOf(jwt) }

/** key: routeKey() of the rule that serves the documents. */
export const wellKnownEntry = (
  input: RuleInput,
  mcp: Mcp,
  key = keyOfRule(input),
): WellKnownEntry => ({
  type: 'well-known',
  key,
  route: keyOf(input.route),
  ...policyOf(input),
  paths: mcpPathsOf(mcp, input.route.spec),
  resourceMetadata: mcp.resourceMetadata,
  ...(mcp.authorizationServer === undefined
    ? {}
    : { authorizationServer: mcp.authorizationServer }),
  serverMetadata: mcp.serverMetadata,
  registration: mcp.registration,
  ...(mcp.relay === undefined ? {} : { relay: mcp.relay }),
})

/**
 * Gives each entry of an HTTPRoute the paths of all; apart from keys and paths they are equal. Inserting or removing
 * a rule shifts the keys of later rules. Until Envoy catches up, a request can carry another rule's key.
 */
export function withPathsOfAll(entries: readonly AuthzEntry[]): readonly AuthzEntry[] {
  const paths = sortedPaths(entries.flatMap((entry) => entry.paths))
  return entries.map((entry) => ({ ...entry, paths }))
}

function sortedPaths(paths: readonly PathMatch[]): readonly PathMatch[] {
  const unique = new Map(paths.map((path) => [`${path.value} ${path.type}`, path]))
  return [...unique.entries()].sort(([a], [b]) => compareText(a, b)).map(([, path]) => path)
}
