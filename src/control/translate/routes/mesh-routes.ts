// Translates an HTTPRoute of a mesh and its ProxyPolicies into the entries of both tables and the data for the export.
// The mesh itself matches, filters and forwards; of the rules only the paths are read, which ext_authz checks again.

import { relayPath, WELL_KNOWN_ROOTS } from '../../../extauthz/oauth/paths.js'
import type { AuthzEntry } from '../../../model/authz-entry.js'
import {
  isListenerSet,
  type MeshDocuments,
  type MeshRoute,
  type MeshSealing,
  pathsByRule,
} from '../../../model/mesh-route.js'
import { documentsRoute, routeKey, SEAL_HEADERS, SEAL_SECRET } from '../../../model/names.js'
import type { ProcEntry } from '../../../model/proc-entry.js'
import type { Cors, PathMatch } from '../../../model/route.js'
import { asSentence, type GatewayName, nameFor } from '../../../model/status.js'
import { formatPath } from '../../schema/kinds/field-path.js'
import { attachPolicies, auditsAuthz, guardsMcp } from '../policies/attachments.js'
import type { Mcp } from '../policies/mcp.js'
import { policyIdentity, type TranslatedPolicy } from '../policies/policies.js'
import type { Context } from '../world/context.js'
import { keyIn, keyOf, targetKey } from '../world/world.js'
import { translateFilters } from './filters.js'
import { extendCorsForMcp } from './mcp-cors.js'
import { patternCovers } from './path-patterns.js'
import { brokenPolicies } from './route-backends.js'
import { translateMatch } from './route-matches.js'
import type { TranslatedParent } from './route-parents.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'
import {
  authzEntryOf,
  guardEntry,
  listsEntry,
  wellKnownEntry,
  withPathsOfAll,
} from './table-entries.js'
import { isWellKnown, mcpPathsOf } from './well-known-routes.js'

/** A translated HTTPRoute of a mesh. */
export interface TranslatedMeshRoute {
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly ProcEntry[]
  /** targetKey() of each backend. */
  readonly uses: readonly string[]
  /** Absent: the route has no ProxyPolicy, and none is required. */
  readonly mesh?: MeshRoute
}

const SEVERAL_KINDS =
  'its Gateways or their listeners have different policies: use a separate route for each'

/** inputs: one for each rule. gateways: those that accept the route. */
export function translateMeshRoute(
  context: Context,
  route: HttpRoute,
  inputs: readonly RuleInput[],
  { parents, gateways, isOfOneKind }: MeshParents,
): TranslatedMeshRoute {
  const uses = backendsOf(route)
  const [first] = inputs
  if (first === undefined || (policiesOf(first).length === 0 && !first.lacksPolicy))
    return { authz: [], proc: [], uses }
  const { namespace } = route.metadata
  const attached = uses.map((target) => attachPolicies(context, target))
  const refusals = [
    ...first.refusals.map(
      (policy) => `${asSentence(nameFor(namespace, 'ProxyPolicy', policy))} is not valid`,
    ),
    ...brokenPolicies(namespace, attached),
    ...(first.lacksPolicy ? ['no policy decides who may use it, and one is required'] : []),
    ...(isOfOneKind ? [] : [SEVERAL_KINDS]),
    ...ofOwnEnvoys(first),
  ]
  const rules = refusals.length > 0 || gateways.length === 0 ? [] : inputs
  const sealing = meshSealing(context, route)
  const seal = sealing.secret === undefined ? {} : { seal: sealing.secret }
  // Without Gatehouse a route that is only audited is served, so it has no seal.
  const authz = rules
    .flatMap(authzOf)
    .map((entry) => (entry.isAudited === true ? entry : { ...entry, ...seal }))
  const documents = documentsOf(first)
  const served = rules.length > 0 ? documents : undefined
  const problems = [
    ...refusals,
    ...parents.flatMap(({ refusal }) => refusal?.message ?? []),
    ...listenerSetProblems(route),
    ...(isProtected(first) ? pathProblems(route, documents) : []),
    ...corsProblems(route, mcpOf(first)),
    ...timeoutProblems(route, timeoutOf(context, uses)),
  ]
  const mesh = {
    ...meshRouteOf(context, first, uses),
    gateways,
    ...(authz[0] === undefined ? {} : { authz: meshAuthz(first, authz[0], authz) }),
    ...(documents === undefined ? {} : { documents }),
    problems,
    ...(problems.length > 0 && isClosing(first) ? { isRefused: true as const } : {}),
    sealing,
  }
  const inEnvoy = sealing.secret === undefined ? rules : rules.flatMap(sealedRules)
  const proc = procOf(first, inEnvoy, served).map((entry) =>
    entry.type === 'guard' ? { ...entry, ...seal } : entry,
  )
  // The key of documents lets everybody in: it must not have the paths of the rules.
  return {
    authz: [...withPathsOfAll(authz), ...documentsEntries(context, route, served)],
    proc,
    uses,
    mesh,
  }
}

/**
 * Returns the inputs to export, from those of all scopes: if scopes differ, those of one that closes the route, else of
 * one with policies. A route with a policy on one of its Gateways alone must not pass for one without any.
 */
export const decidingInputs = (
  scopes: readonly (readonly RuleInput[])[],
): readonly RuleInput[] | undefined =>
  scopes.find(([first]) => first !== undefined && isClosing(first)) ??
  scopes.find(([first]) => first !== undefined && policiesOf(first).length > 0) ??
  scopes[0]

/** The parents of an HTTPRoute of a mesh. */
export interface MeshParents {
  readonly parents: readonly TranslatedParent[]
  readonly gateways: readonly GatewayName[]
  /** Whether all Gateways apply the same policies to the route: a mesh asks about an HTTPRoute by one key. */
  readonly isOfOneKind: boolean
}

const policiesOf = ({ attachment }: RuleInput): readonly TranslatedPolicy[] => [
  ...attachment.policies,
  ...(attachment.audit?.policies ?? []),
]

const isProtected = ({ attachment }: RuleInput): boolean =>
  attachment.jwt !== undefined || attachment.authorization !== undefined

/** Whether something other than policies of mode Audit decides about its requests. */
const isClosing = (input: RuleInput): boolean =>
  isProtected(input) ||
  input.webhooks !== undefined ||
  input.refusals.length > 0 ||
  input.lacksPolicy

const mcpOf = ({ attachment }: RuleInput): Mcp | undefined => attachment.jwt?.jwt?.mcp

const authzOf = (input: RuleInput): readonly AuthzEntry[] =>
  isProtected(input) || auditsAuthz(input.attachment)
    ? authzEntryOf(
        input,
        pathsOf(input.rule).flatMap((match) => (match.ok ? match.value.path : [])),
      )
    : []

/** Translates the paths of a rule; headers, methods and query parameters are left to the mesh. */
const pathsOf = ({ matches }: HttpRoute['spec']['rules'][number]) =>
  (matches.length === 0 ? [{ path: EVERYTHING }] : matches).map(({ path }) =>
    translateMatch({ path, headers: [], queryParams: [] }),
  )

const EVERYTHING = { type: 'PathPrefix', value: '/' } as const

function procOf(
  first: RuleInput,
  rules: readonly RuleInput[],
  documents: MeshDocuments | undefined,
): readonly ProcEntry[] {
  const mcp = mcpOf(first)
  if (mcp === undefined) return rules.flatMap(guardEntry)
  const { namespace } = first.route.metadata
  const served = documents === undefined ? [] : pathsByRule(documents)
  return [
    ...served.map((_, rule) =>
      wellKnownEntry(first, mcp, routeKey(namespace, documents?.route ?? '', rule)),
    ),
    ...(first.attachment.filtersLists ? rules.flatMap(listsEntry) : []),
  ]
}

function documentsOf(input: RuleInput): MeshDocuments | undefined {
  const mcp = mcpOf(input)
  if (mcp === undefined) return undefined
  const { mcpPath } = mcpPathsOf(mcp, input.route.spec)
  const suffix = mcpPath.replace(/\/$/, '')
  return {
    cors: extendCorsForMcp(ownCors(input.route) ?? pagesCors(mcp)).cors,
    route: documentsRoute(input.route.metadata.name),
    documents: WELL_KNOWN_ROOTS.map((root) => `${root}${suffix}`),
    pages:
      mcp.relay === undefined
        ? []
        : [relayPath(mcpPath, 'authorize'), relayPath(mcpPath, 'callback')],
  }
}

function meshRouteOf(
  context: Context,
  input: RuleInput,
  uses: readonly string[],
): Omit<MeshRoute, 'gateways' | 'problems' | 'sealing'> {
  const { route, webhooks } = input
  const { namespace, name } = route.metadata
  const mcp = mcpOf(input)
  const cors = mcp === undefined || ownCors(route) !== undefined ? undefined : pagesCors(mcp)
  const requestMs = timeoutOf(context, uses)
  return {
    namespace,
    name,
    source: route.source,
    policies: policiesOf(input).map(policyIdentity),
    parents: route.spec.parentRefs,
    hostnames: route.spec.hostnames,
    rules: route.spec.rules,
    isGuarded: webhooks !== undefined,
    isEndless: mcp !== undefined || webhooks !== undefined,
    ...(requestMs === undefined ? {} : { requestMs }),
    ...(cors === undefined ? {} : { cors }),
  }
}

const meshAuthz = (
  { attachment, mcpBodyBytes }: RuleInput,
  { key, isAudited }: AuthzEntry,
  all: readonly AuthzEntry[],
): NonNullable<MeshRoute['authz']> => ({
  key,
  paths: all.flatMap(({ paths }) => paths),
  ...(isAudited === undefined ? {} : { isAudited }),
  ...(attachment.readsMcp || attachment.audit?.readsMcp === true
    ? { bodyBytes: mcpBodyBytes }
    : {}),
  ...(!attachment.readsMcp && attachment.audit?.readsMcp === true ? { isBodyAudited: true } : {}),
  filtersLists: attachment.filtersLists,
})

/** Returns the first CORS filter of the route, which the mesh itself applies. */
const ownCors = ({ spec }: HttpRoute): Cors | undefined =>
  spec.rules
    .map(({ filters }) => filters.filter(({ type }) => type === 'CORS'))
    .flatMap((filters) => translateFilters(filters, ['CORS']).cors ?? [])[0]

/** CORS for an MCP route without a CORS filter: open to web pages, within allowedOrigins of the policy. */
const pagesCors = ({ spec }: Mcp): Cors => ({
  allowOrigins: spec.allowedOrigins ?? ['*'],
  allowMethods: ['*'],
  allowHeaders: ['*'],
  exposeHeaders: ['WWW-Authenticate', 'Mcp-Session-Id'],
  allowCredentials: false,
  maxAge: 86_400,
})

/** Reports headers that MCP clients in browsers need and the CORS filter lacks; the mesh adds none. */
function corsProblems(route: HttpRoute, mcp: Mcp | undefined): readonly string[] {
  const own = ownCors(route)
  if (own === undefined || mcp?.spec.corsHeaders !== 'Extended') return []
  return extendCorsForMcp(own).added.map(
    (added) => `its CORS filter lacks ${added}, which MCP clients in browsers need: add them`,
  )
}

/** Returns the shortest backend.http.requestTimeout of the backends. */
function timeoutOf(context: Context, uses: readonly string[]): number | undefined {
  const all = uses.flatMap((target) => attachPolicies(context, target).requestTimeoutMs ?? [])
  return all.length === 0 ? undefined : Math.min(...all)
}

const backendsOf = ({ spec, metadata }: HttpRoute): readonly string[] => [
  ...new Set(
    spec.rules.flatMap(({ backendRefs }) =>
      backendRefs.map(({ group, kind, namespace = metadata.namespace, name }) =>
        targetKey(group, kind, namespace, name),
      ),
    ),
  ),
]

/** Whether the path is a pattern that takes requests from the documents' route. */
const coversSome = (match: PathMatch, of: MeshDocuments): boolean =>
  match.type === 'RegularExpression' &&
  [...of.documents, ...of.pages].some((path) => patternCovers(match, path))

/** Reports paths that ext_authz cannot check again, or that it would deny although ext_proc serves them. */
function pathProblems(
  { spec }: HttpRoute,
  documents: MeshDocuments | undefined,
): readonly string[] {
  return spec.rules.flatMap((rule, index) =>
    pathsOf(rule).flatMap((match) => {
      if (!match.ok) return [`rules[${index}]: ${match.error}`]
      const { path } = match.value
      return documents !== undefined && (isWellKnown(path) || coversSome(path, documents))
        ? [
            `rules[${index}]: path ${path.value} is served by the route that is made for the OAuth documents: remove this match`,
          ]
        : []
    }),
  )
}

// Builds the ext_authz entries for the OAuth documents of a route of a mesh.

/** Returns the entries of the documents' route where Istio's gateways ask ext_authz about every request. */
function documentsEntries(
  { options }: Context,
  route: HttpRoute,
  documents: MeshDocuments | undefined,
): readonly AuthzEntry[] {
  if (documents === undefined || options.mesh !== 'istio' || options.requirePolicy !== true)
    return []
  return pathsByRule(documents).map((paths, rule) => ({
    key: routeKey(route.metadata.namespace, documents.route, rule),
    route: keyOf(route),
    paths: paths.map((value) => ({
      type: paths === documents.pages ? ('Exact' as const) : ('PathPrefix' as const),
      value,
    })),
    servesDocuments: true,
  }))
}

// Finds reasons why an HTTPRoute of a mesh cannot be exported: each is reported, and nothing is dropped silently.

/** Reports ListenerSets, also of the experimental kind, to whose listeners no mesh is known to apply what is exported. */
const listenerSetProblems = ({ spec, metadata }: HttpRoute): readonly string[] =>
  spec.parentRefs
    .filter(isListenerSet)
    .map(
      ({ kind, namespace = metadata.namespace, name }) =>
        `${kind} ${namespace}/${name} is its parent: policies cannot be carried to the listeners of a mesh's ListenerSets; expected a Gateway as its only parent`,
    )

/** Reports policy fields that cannot be exported to a mesh: they must not be dropped silently. */
const ofOwnEnvoys = ({ attachment, audited }: RuleInput): readonly string[] => [
  ...(attachment.jwt?.jwt?.mcp?.session === undefined ? [] : [BOUND_SESSIONS]),
  ...[
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
  ),
]

const BOUND_SESSIONS =
  'mcp.bindSession is for Envoys that Gatehouse configures: leave it out, and have the MCP server bind its sessions'

/** Reports rules whose own timeout is longer: it makes the mesh ignore the policy's. */
const timeoutProblems = ({ spec }: HttpRoute, policyMs: number | undefined): readonly string[] =>
  spec.rules.flatMap(({ timeouts: { request } }, index) =>
    policyMs === undefined || request === undefined || (request > 0 && request <= policyMs)
      ? []
      : [
          `rules[${index}].timeouts.request is longer than backend.http.requestTimeout of its Service, which it would replace: shorten it`,
        ],
  )

// Collects the parts of a sealed HTTPRoute of a mesh. Each rule becomes two: one that leads nowhere, and one that also
// matches Gatehouse's marks and leads to the backends.

/** Maximum number of rules in an HTTPRoute (Gateway API). */
const MOST_RULES = 16
/** Maximum number of headers in a user's match; Gatehouse needs the rest. */
const MOST_HEADERS = 14

/** Duplicates a rule's input with the two rule indexes of the sealed route. */
const sealedRules = (input: RuleInput): readonly RuleInput[] =>
  [2 * input.index, 2 * input.index + 1].map((index) => ({ ...input, index }))

/** Reads the secret from the namespace's Secret gatehouse-seal. */
function meshSealing(context: Context, route: HttpRoute): MeshSealing {
  const { namespace, labels } = route.metadata
  const { name, key } = SEAL_SECRET
  const secret = context.reader.read('secrets', keyIn(namespace, name))?.spec.data[key]
  return {
    ...(secret === undefined || !isSecret(secret) ? {} : { secret }),
    labels,
    problems: [
      ...route.unsupported.map((field) => `${formatPath(field)} is not read, and would be lost`),
      ...(secret === undefined || isSecret(secret)
        ? []
        : [`Secret ${keyIn(namespace, name)}: ${key} is not 32 to 256 letters, digits, - and _`]),
      ...(route.spec.rules.length * 2 > MOST_RULES
        ? [`a sealed route has two rules for each, and no more than ${MOST_RULES}`]
        : []),
      ...route.spec.rules.flatMap(matchProblems),
    ],
  }
}

const isSecret = (text: string): boolean => /^[\w-]{32,256}$/.test(text)

function matchProblems(
  { matches }: HttpRoute['spec']['rules'][number],
  index: number,
): readonly string[] {
  const seals: readonly string[] = Object.values(SEAL_HEADERS)
  const isSealed = matches.some(({ headers }) =>
    headers.some(({ name }) => seals.includes(name.toLowerCase())),
  )
  const isFull = matches.some(({ headers }) => headers.length > MOST_HEADERS)
  return [
    ...(isSealed ? [`rules[${index}] is already sealed: expected the original route`] : []),
    ...(isFull ? [`rules[${index}] has a match with more than ${MOST_HEADERS} headers`] : []),
  ]
}
