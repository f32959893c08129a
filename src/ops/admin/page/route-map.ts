// Connects each served HTTPRoute with its policies, and with the identity providers and webhooks that they use.

import { each, type Work } from '../../../kit/turns.js'
import type { AuthzEntry, KeySource } from '../../../model/authz-entry.js'
import type { Ir } from '../../../model/ir.js'
import type { PolicySource } from '../../../model/policy-source.js'
import type { ProcEntry, Webhook } from '../../../model/proc-entry.js'
import { type ServedRoute, servedRoutes } from '../served-routes.js'

/** What a ProxyPolicy says, as far as the map shows it. */
export interface PolicyFacts extends PolicySource {
  /** NAMESPACE/NAME of the HTTPRoutes that it targets. */
  readonly routes: readonly string[]
  /** What it sets, in words: "token", "rules (Deny)" … */
  readonly sets: readonly string[]
  readonly isAudit: boolean
}

/** A policy that concerns a route. */
export type MappedPolicy = Omit<PolicyFacts, 'routes'>

/** An issuer of tokens that a route accepts. */
export interface MappedIssuer {
  readonly issuer: string
  /** URL of its key set; absent: the keys are in the policy. */
  readonly keysUrl?: string
}

/** A guardrail webhook of a route. */
export interface MappedWebhook {
  /** Name of its backend. */
  readonly backend: string
  /** "request", "response" or both. */
  readonly phases: readonly string[]
  readonly failsOpen: boolean
}

/** A route of the map. */
export interface MappedRoute extends ServedRoute {
  readonly policies: readonly MappedPolicy[]
  readonly issuers: readonly MappedIssuer[]
  readonly webhooks: readonly MappedWebhook[]
}

/**
 * Returns the map of all HTTPRoutes, in the order of servedRoutes().
 * @param open NAMESPACE/NAME of the open routes.
 * @param policies all ProxyPolicies by NAMESPACE/NAME.
 */
export function* routeMap(
  ir: Ir,
  open: ReadonlySet<string>,
  policies: ReadonlyMap<string, PolicyFacts>,
): Work<readonly MappedRoute[]> {
  const links = yield* routeLinks(ir, policies)
  const mapped: MappedRoute[] = []
  const served = yield* servedRoutes(ir, open)
  yield* each(served, (route) => {
    const { sources, issuers, webhooks } = links.get(route.name) ?? NO_LINKS
    mapped.push({
      ...route,
      policies: [...sources.values()].map((source) => policyOf(source, policies)),
      issuers: [...issuers.values()],
      webhooks: [...webhooks.values()],
    })
  })
  return mapped
}

function policyOf(
  { policy, source }: PolicySource,
  policies: ReadonlyMap<string, PolicyFacts>,
): MappedPolicy {
  const { sets = [], isAudit = false } = policies.get(policy) ?? {}
  return { policy, source, sets, isAudit }
}

interface Links {
  readonly sources: Map<string, PolicySource>
  readonly issuers: Map<string, MappedIssuer>
  readonly webhooks: Map<string, MappedWebhook>
}

const NO_LINKS: Links = { sources: new Map(), issuers: new Map(), webhooks: new Map() }

/** Collects links from both tables, and from policies that target a route but are not in force there. */
function* routeLinks(
  ir: Ir,
  policies: ReadonlyMap<string, PolicyFacts>,
): Work<ReadonlyMap<string, Links>> {
  const all = new Map<string, Links>()
  const linksOf = (route: string): Links => {
    const links = all.get(route) ?? { sources: new Map(), issuers: new Map(), webhooks: new Map() }
    all.set(route, links)
    return links
  }
  yield* each(ir.authz, (entry) => addAuthz(linksOf(entry.route), entry))
  yield* each(ir.proc, (entry) => addProc(linksOf(entry.route), entry, policies))
  yield* each(policies.values(), (facts) => {
    for (const route of facts.routes) addSource(linksOf(route), facts)
  })
  return all
}

function addSource({ sources }: Links, policy: PolicySource | undefined): void {
  if (policy !== undefined && !sources.has(policy.policy)) sources.set(policy.policy, policy)
}

function addAuthz(links: Links, { audit, ...enforced }: AuthzEntry): void {
  for (const part of [enforced, audit]) {
    addSource(links, part?.policy)
    for (const policy of part?.authorization?.policies ?? []) addSource(links, policy)
    for (const { issuer, keySet } of part?.jwt?.providers ?? [])
      links.issuers.set(issuer, { issuer, ...keysUrlOf(keySet.source) })
  }
}

const keysUrlOf = (source: KeySource): Pick<MappedIssuer, 'keysUrl'> =>
  source.type === 'remote' ? { keysUrl: source.url } : {}

function addProc(links: Links, entry: ProcEntry, policies: ReadonlyMap<string, PolicyFacts>): void {
  switch (entry.type) {
    case 'well-known':
      if (entry.relay === undefined) return
      return addSource(links, policies.get(entry.relay.policy))
    case 'guard':
    case 'mcp-guard':
      addSource(links, entry.policy)
      return addWebhooks(links, entry)
    case 'guard-audit':
    case 'mcp-guard-audit':
      for (const { policy } of [...entry.request, ...entry.response]) addSource(links, policy)
      return addWebhooks(links, entry)
    case 'sessions':
    case 'unchecked-body':
      return
    case 'lists':
      for (const policy of entry.authorization.policies ?? []) addSource(links, policy)
  }
}

interface Guarded {
  readonly request: readonly Webhook[]
  readonly response: readonly Webhook[]
}

function addWebhooks({ webhooks }: Links, { request, response }: Guarded): void {
  const add = (phase: string, { backend, failureMode }: Webhook): void => {
    const known = webhooks.get(backend) ?? { backend, phases: [], failsOpen: false }
    webhooks.set(backend, {
      backend,
      phases: known.phases.includes(phase) ? known.phases : [...known.phases, phase],
      failsOpen: known.failsOpen || failureMode === 'FailOpen',
    })
  }
  for (const webhook of request) add('request', webhook)
  for (const webhook of response) add('response', webhook)
}
