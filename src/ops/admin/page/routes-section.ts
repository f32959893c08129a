// The map of the status page: each route, the policies that guard it, and the providers and webhooks that they use.

import { each, type Work } from '../../../kit/turns.js'
import { isBad } from '../../../model/status.js'
import { type Html, markup } from '../html.js'
import type { RemoteReport, ReportedResource } from '../status-report.js'
import { type PageQuery, searchFor, searchTest } from './page-query.js'
import type { MappedIssuer, MappedPolicy, MappedRoute, MappedWebhook } from './route-map.js'
import { type Item, mark, NO_HTML, paged, plainChip, type Section } from './section.js'

const PAGE_SIZE = 25
/** The most policies, issuers and webhooks of one route that are shown. */
const MAX_NODES = 12

/** What the map says about nodes besides the routes. */
interface Surroundings {
  readonly remote: readonly RemoteReport[]
  readonly resources: readonly ReportedResource[]
}

export function* routesSection(
  routes: readonly MappedRoute[],
  surroundings: Surroundings,
  query: PageQuery,
): Work<Section> {
  const matches = searchTest(query.search)
  const matching: MappedRoute[] = []
  yield* each(routes, (route) => {
    if (matches(() => textsOf(route))) matching.push(route)
  })
  const { shown, foot } = paged(matching, {
    list: 'routes',
    size: PAGE_SIZE,
    query,
    nouns: 'routes',
    empty: 'No HTTPRoute is in force.',
  })
  const known = yield* nodeStates(shown, surroundings)
  return {
    id: 'routes',
    title: 'Routes, policies, providers',
    note: noteOf(routes),
    items: shown.map((route) => itemOf(route, known)),
    foot,
  }
}

function noteOf(routes: readonly MappedRoute[]): Html {
  const open = routes.filter(({ isOpen }) => isOpen).length
  const refusing = routes.filter(({ isRefusing, isOpen }) => isRefusing && !isOpen).length
  return markup`${[
    markup`<span class="dim">${routes.length} ${routes.length === 1 ? 'route' : 'routes'}</span>`,
    ...(open === 0 ? [] : [mark('bad', `${open} open ${open === 1 ? 'route' : 'routes'}`)]),
    ...(refusing === 0 ? [] : [mark('warn', `${refusing} refusing`)]),
  ]}`
}

const textsOf = (route: MappedRoute): readonly (string | undefined)[] => [
  route.name,
  route.isOpen ? 'open' : '',
  route.isRefusing ? 'refuses' : '',
  ...route.guards,
  ...route.places.first,
  ...route.policies.flatMap(({ policy, source, sets }) => [policy, source, ...sets]),
  ...route.issuers.flatMap(({ issuer, keysUrl }) => [issuer, keysUrl]),
  ...route.webhooks.map(({ backend }) => backend),
]

interface NodeStates {
  /** Policies with a problem, by NAMESPACE/NAME. */
  readonly troubled: ReadonlySet<string>
  readonly keySets: ReadonlyMap<string, RemoteReport>
}

/** Looks up only what the shown routes name. */
function* nodeStates(
  shown: readonly MappedRoute[],
  { remote, resources }: Surroundings,
): Work<NodeStates> {
  const named = new Set(shown.flatMap(({ policies }) => policies.map(({ policy }) => policy)))
  const troubled = new Set<string>()
  yield* each(resources, ({ kind, namespace, name, conditions }) => {
    const policy = `${namespace}/${name}`
    if (kind === 'ProxyPolicy' && named.has(policy) && conditions.some(isBad)) troubled.add(policy)
  })
  const keySets = remote.filter(({ kind }) => kind === 'KeySet')
  return { troubled, keySets: new Map(keySets.map((keySet) => [keySet.url, keySet])) }
}

function itemOf(route: MappedRoute, states: NodeStates): Item {
  const providers = [
    ...route.issuers.map((issuer) => issuerNode(issuer, states)),
    ...route.webhooks.map(webhookNode),
  ]
  return {
    key: route.name,
    html: markup`<li class="route" data-key="${route.name}">
${routeNode(route)}
${policyNodes(route, states)}
${providers.length === 0 ? NO_HTML : nodes('providers and webhooks', 'asks', providers, NO_HTML)}
</li>`,
  }
}

function routeNode({ name, isOpen, isRefusing, guards, places }: MappedRoute): Html {
  const more = places.count - places.first.length
  return markup`<div class="node ${isOpen ? 'bad' : isRefusing ? 'warn' : 'good'}">
<div class="top"><h3><a data-view href="${searchFor(name)}">${name}</a></h3>${stateOf(isOpen, isRefusing)}</div>
<div class="places">${places.first.map((place) => markup`<code>${place}</code> `)}${more > 0 ? markup`<span class="dim">and ${more} more</span>` : ''}</div>
<div class="chips">${guards.map(plainChip)}</div></div>`
}

function stateOf(isOpen: boolean, isRefusing: boolean): Html {
  if (isOpen) return mark('bad', 'Open')
  return isRefusing ? mark('warn', 'Refuses') : mark('good', 'Guarded')
}

function policyNodes({ policies, isOpen, guards }: MappedRoute, states: NodeStates): Html {
  const none = isOpen
    ? markup`<div class="node none bad">No policy: anybody may use this route</div>`
    : markup`<p class="dim">${guards.includes('closed without a policy') ? 'No policy, and one is required' : 'No policy'}</p>`
  return nodes(
    'policies',
    'guarded by',
    policies.map((policy) => policyNode(policy, states)),
    none,
  )
}

function policyNode({ policy, source, sets, isAudit }: MappedPolicy, states: NodeStates): Html {
  const hasTrouble = states.troubled.has(policy)
  return markup`<div class="node ${hasTrouble ? 'bad' : isAudit ? 'warn' : ''}">
<div class="top"><a data-view href="${searchFor(policy)}">${policy}</a>${hasTrouble ? mark('bad', 'Problem') : isAudit ? mark('warn', 'Audit') : ''}</div>
<div class="dim">${source}</div><div class="chips">${sets.map(plainChip)}</div></div>`
}

function issuerNode({ issuer, keysUrl }: MappedIssuer, { keySets }: NodeStates): Html {
  const keySet = keysUrl === undefined ? undefined : keySets.get(keysUrl)
  const state =
    keysUrl === undefined
      ? plainChip('keys in the policy')
      : keySet?.fetchedAt === undefined
        ? mark('bad', 'No keys')
        : keySet.error === undefined
          ? mark('good', 'Keys')
          : mark('warn', 'Old keys')
  return markup`<div class="node"><div class="top"><a data-view href="${searchFor(issuer)}">${issuer}</a>${state}</div><div class="dim">issues tokens</div></div>`
}

const webhookNode = ({ backend, phases, failsOpen }: MappedWebhook): Html =>
  markup`<div class="node"><div class="top"><a data-view href="${searchFor(backend)}">${backend}</a>${failsOpen ? mark('warn', 'Fails open') : ''}</div><div class="dim">webhook for ${phases.join(' and ')}</div></div>`

function nodes(what: string, verb: string, all: readonly Html[], none: Html): Html {
  const left = all.length - MAX_NODES
  return markup`<div class="link"><span>${verb}</span></div><div class="nodes" role="group" aria-label="${what}">
${all.length === 0 ? none : all.slice(0, MAX_NODES)}${left > 0 ? markup`<p class="dim">and ${left} more</p>` : ''}</div>`
}
