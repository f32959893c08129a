// Sections of the status page about Envoys, about fetched documents, and about all resources.

import { each, type Work } from '../../../kit/turns.js'
import { AUDIT, isBad, isPartial, remarksOf } from '../../../model/status.js'
import { type Html, markup } from '../html.js'
import {
  type EnvoyReport,
  type EnvoyTypeReport,
  type RemoteReport,
  type ReportedCondition,
  type ReportedResource,
  type StatusReport,
  typeName,
} from '../status-report.js'
import { badCondition } from './attention-section.js'
import { type PageQuery, searchTest } from './page-query.js'
import { code, type Item, mark, NO_HTML, paged, row, type Section, time } from './section.js'

const MAX_ROWS = 100

const ENVOY_HEADS = ['Envoy', 'State', 'Acknowledged'] as const

/** Returns the section of connected Envoys. */
export function envoysSection(
  { envoys, isBesideOthers }: Pick<StatusReport, 'envoys' | 'isBesideOthers'>,
  search: string,
): Section {
  const matches = searchTest(search)
  const matching = envoys.filter(({ node, cluster }) => matches(() => [node, cluster, 'envoy']))
  const connected = envoys.filter((envoy) => envoy.connected).length
  return {
    id: 'envoys',
    title: 'Envoys',
    heads: ENVOY_HEADS,
    note:
      isBesideOthers === true
        ? mark('dim', 'Configured by others')
        : connected === 0
          ? mark('bad', 'None connected')
          : markup`<span class="dim">${connected} connected</span>`,
    items: matching.slice(0, MAX_ROWS).map(envoyItem),
    foot: footOf(
      matching.length,
      envoys.length,
      'Envoys',
      isBesideOthers === true ? OF_OTHERS : NONE_YET,
    ),
  }
}

const NONE_YET = 'None has connected yet.'
const OF_OTHERS =
  'Those that are connected get their configuration elsewhere, and ask about requests alone.'

function footOf(matching: number, all: number, nouns: string, empty: string): Html {
  if (all === 0) return markup`<p>${empty}</p>`
  if (matching === 0) return markup`<p>No ${nouns} match the search.</p>`
  return matching > MAX_ROWS
    ? markup`<p>And ${matching - MAX_ROWS} more. Search to narrow them down.</p>`
    : NO_HTML
}

/** Streams of one node are told apart by their position. */
const envoyItem = (envoy: EnvoyReport, index: number): Item =>
  row(`${index} ${envoy.node}`, ENVOY_HEADS, [
    markup`<b>${envoy.node}</b><div class="dim">serves ${envoy.cluster}</div>`,
    envoyState(envoy),
    markup`<ul class="types">${envoy.types.map(typeLine)}</ul>`,
  ])

const isCurrent = ({ sent, acked }: EnvoyTypeReport): boolean => sent === acked

function envoyState({ connected, types }: EnvoyReport): Html {
  if (!connected) return mark('dim', 'Gone')
  if (types.some(({ nacked }) => nacked !== undefined)) return mark('bad', 'Refuses configuration')
  return types.every(isCurrent) ? mark('good', 'Up to date') : mark('warn', 'Behind')
}

function typeLine(state: EnvoyTypeReport): Html {
  const { type, sent = 'nothing', acked, nacked } = state
  const refused =
    nacked === undefined
      ? NO_HTML
      : markup`<div class="detail">${mark('bad', 'Refused')} ${code(nacked.version)} at ${time(nacked.at)}: <span class="lines">${nacked.message}</span></div>`
  const version =
    acked === undefined
      ? markup`<span class="dim">none yet</span>`
      : markup`${code(acked)}${isCurrent(state) ? NO_HTML : markup` <span class="dim">sent ${sent}</span>`}`
  return markup`<li>${typeName(type)} ${version}${refused}</li>`
}

const REMOTE_HEADS = ['What', 'URL', 'State', 'Fetched'] as const

/** Returns the section of fetched documents. */
export function remoteSection(documents: readonly RemoteReport[], search: string): Section {
  const matches = searchTest(search)
  const matching = documents.filter(({ kind, url, error }) =>
    matches(() => [WHAT[kind], url, error]),
  )
  const bad = documents.filter(({ fetchedAt }) => fetchedAt === undefined).length
  return {
    id: 'keys',
    title: 'Key sets and discovery documents',
    heads: REMOTE_HEADS,
    note:
      bad > 0
        ? mark('bad', `${bad} never fetched`)
        : markup`<span class="dim">${documents.length} in use</span>`,
    items: matching.slice(0, MAX_ROWS).map(remoteItem),
    foot: footOf(matching.length, documents.length, 'documents', 'None are needed.'),
  }
}

const WHAT = { KeySet: 'Key set', Discovery: 'Discovery' } as const

const remoteItem = ({ kind, url, fetchedAt, error }: RemoteReport, index: number): Item =>
  row(`${index} ${kind} ${url}`, REMOTE_HEADS, [
    markup`<b>${WHAT[kind]}</b>`,
    code(url),
    markup`${remoteState(fetchedAt, error)}${error === undefined ? NO_HTML : markup`<div class="detail">${error}</div>`}`,
    fetchedAt === undefined ? markup`<span class="bad">never fetched</span>` : time(fetchedAt),
  ])

function remoteState(fetchedAt: string | undefined, error: string | undefined): Html {
  if (fetchedAt === undefined) return mark('bad', 'Missing')
  return error === undefined ? mark('good', 'Fresh') : mark('warn', 'Last fetch failed')
}

const PAGE_SIZE = 25
const RESOURCE_HEADS = ['Kind', 'Name', 'Conditions', 'Source'] as const

/** Open routes come first, then resources with problems, then the rest. */
export function* resourcesSection(
  resources: readonly ReportedResource[],
  query: PageQuery,
): Work<Section> {
  const matches = searchTest(query.search)
  const ranks: readonly ReportedResource[][] = [[], [], []]
  let troubled = 0
  yield* each(resources, (resource) => {
    const isTroubled = resource.conditions.some(isBad)
    const isDoubtful = isTroubled || resource.conditions.some(isPartial)
    if (isTroubled) troubled += 1
    if (matches(() => textsOf(resource)))
      ranks[resource.open === true ? 0 : isDoubtful ? 1 : 2]?.push(resource)
  })
  const { shown, foot } = paged(ranks.flat(), {
    list: 'resources',
    size: PAGE_SIZE,
    query,
    nouns: 'resources',
    empty: 'None were read yet.',
  })
  return {
    id: 'resources',
    title: 'Resources',
    heads: RESOURCE_HEADS,
    note: resourcesNote(resources.length, troubled),
    items: shown.map(resourceItem),
    foot,
  }
}

function resourcesNote(count: number, troubled: number): Html {
  if (count === 0) return NO_HTML
  return troubled === 0
    ? mark('good', `${count}, all well`)
    : mark('bad', `${troubled} of ${count} with a problem`)
}

const textsOf = (resource: ReportedResource): readonly string[] => [
  resource.kind,
  nameOf(resource),
  resource.source,
  resource.open === true ? 'open' : '',
  ...resource.conditions.flatMap(({ reason, message }) => [reason, message]),
]

const nameOf = ({ namespace, name }: ReportedResource): string =>
  namespace === '' ? name : `${namespace}/${name}`

const resourceItem = (resource: ReportedResource): Item =>
  row(`${resource.kind} ${nameOf(resource)} ${resource.source}`, RESOURCE_HEADS, [
    markup`<b>${resource.kind}</b>`,
    markup`${nameOf(resource)}`,
    markup`${resource.open === true ? OPEN : NO_HTML}${resource.conditions.map(conditionHtml)}`,
    markup`<span class="dim">${resource.source}</span>`,
  ])

const OPEN = markup`<div class="detail">${mark('bad', 'Open')} No policy decides who may use this route.</div>`

/** A good condition shows only its name and remarks; a bad one shows all its details. */
function conditionHtml(condition: ReportedCondition): Html {
  if (isBad(condition)) return markup`${mark('bad', 'Problem')}${badCondition(condition)}`
  const { type, reason, section } = condition
  const word = section === undefined ? type : `${section}: ${type}`
  const remarks = remarksOf(condition)
  const isDoubtful = reason === AUDIT || isPartial(condition)
  return markup`${mark(isDoubtful ? 'warn' : 'good', word)} ${remarks.map(
    (remark) => markup`<div class="detail dim">${remark}</div>`,
  )}`
}
