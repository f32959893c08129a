// The first section of the status page: open routes, then everything that has a problem.

import { each, type Work } from '../../../kit/turns.js'
import { isBad, isPartial, WITHOUT_POLICY } from '../../../model/status.js'
import { type Html, markup } from '../html.js'
import {
  type EnvoyReport,
  type ReportedCondition,
  type ReportedResource,
  type StatusReport,
  typeName,
} from '../status-report.js'
import { searchFor, searchTest } from './page-query.js'
import { type Item, mark, NO_HTML, type Section } from './section.js'

/** The most that is listed; a search narrows the rest down. */
const MAX_ITEMS = 50

interface Concern {
  readonly key: string
  /** Set if the resource is in force but for a part. */
  readonly isPartial?: boolean
  readonly texts: readonly (string | undefined)[]
  readonly html: () => Html
}

/** @param search see searchTest(). */
export function* attentionSection(report: StatusReport, search: string): Work<Section> {
  const matches = searchTest(search)
  const all = yield* concerns(report)
  const matching = all.filter(({ texts }) => matches(() => texts))
  const items = matching.slice(0, MAX_ITEMS).map(({ key, html }) => itemOf(key, html()))
  const left = matching.length - items.length
  return {
    id: 'attention',
    title: 'Needs attention',
    isAnnounced: true,
    note:
      all.length === 0
        ? mark('good', 'Nothing')
        : mark(
            all.every((one) => one.isPartial) ? 'warn' : 'bad',
            `${all.length} ${all.length === 1 ? 'problem' : 'problems'}`,
          ),
    items,
    foot: footOf(all.length, matching.length, left),
  }
}

function footOf(all: number, matching: number, left: number): Html {
  if (all === 0) return markup`<p>No open routes, and every resource is in force.</p>`
  if (matching === 0) return markup`<p>No problems match the search.</p>`
  return left === 0 ? NO_HTML : markup`<p>And ${left} more. Search to narrow them down.</p>`
}

const itemOf = (key: string, html: Html): Item => ({
  key,
  html: markup`<li data-key="${key}">${html}</li>`,
})

function* concerns({
  reasons,
  failure,
  resources,
  envoys,
  remote,
}: StatusReport): Work<readonly Concern[]> {
  const open: Concern[] = []
  const troubled: Concern[] = []
  yield* each(resources, (resource) => {
    if (resource.open === true) open.push(openRoute(resource))
    const bad = resource.conditions.filter((one) => isBad(one) || isPartial(one))
    if (bad.length > 0) troubled.push(troubledResource(resource, bad))
  })
  return [
    ...open,
    ...(failure === undefined ? [] : [sentence('Not in force', failure)]),
    ...reasons.map((reason) => sentence('Not ready', reason)),
    ...envoys.flatMap(nacks),
    ...remote.flatMap(({ url, kind, fetchedAt, error }) =>
      error === undefined && fetchedAt !== undefined
        ? []
        : [remoteConcern(kind === 'KeySet' ? 'key set' : 'discovery', url, fetchedAt, error)],
    ),
    ...troubled,
  ]
}

const sentence = (word: string, text: string): Concern => ({
  key: `${word} ${text}`,
  texts: [word, text],
  html: () => markup`${mark('bad', word)} <span class="lines">${text}</span>`,
})

const nameOf = ({ namespace, name }: ReportedResource): string =>
  namespace === '' ? name : `${namespace}/${name}`

const resourceLink = (resource: ReportedResource): Html =>
  resource.name === ''
    ? markup`<b>${resource.source}</b>`
    : markup`<a data-view href="${searchFor(nameOf(resource))}">${resource.kind} ${nameOf(resource)}</a>`

const openRoute = (resource: ReportedResource): Concern => ({
  key: `open ${nameOf(resource)}`,
  texts: ['open', resource.kind, nameOf(resource), resource.source],
  html: () =>
    markup`${mark('bad', 'Open')} ${resourceLink(resource)} No policy decides who may use this route. <span class="dim">${resource.source}</span>`,
})

const troubledResource = (
  resource: ReportedResource,
  bad: readonly ReportedCondition[],
): Concern => ({
  key: `${resource.kind} ${nameOf(resource)} ${resource.source}`,
  isPartial: bad.every(isPartial),
  texts: [
    resource.kind,
    nameOf(resource),
    resource.source,
    ...bad.flatMap(({ reason, message }) => [reason, message]),
  ],
  html: () =>
    markup`${mark(bad.every(isRefusal) ? 'bad' : 'warn', bad.every(isPartial) ? 'In part' : 'Problem')} ${resourceLink(resource)} <span class="dim">${resource.source}</span>${bad.map(badCondition)}`,
})

/** Whether the condition says that something is not in force, not only that it waits or that a part cannot work. */
const isRefusal = (condition: ReportedCondition): boolean =>
  (condition.status !== 'Unknown' || condition.reason === WITHOUT_POLICY) && !isPartial(condition)

/** Returns all details of a condition that reports a problem. */
export function badCondition(condition: ReportedCondition): Html {
  const { type, status, reason, message, ancestor, section } = condition
  const place = [ancestor, section].filter((part) => part !== undefined).join(' ')
  return markup`<div class="detail"><code>${type}=${status}</code> <b>${reason}</b>${place === '' ? '' : ` on ${place}`}: <span class="lines">${message}</span></div>`
}

const nacks = ({ node, connected, types }: EnvoyReport): readonly Concern[] =>
  types.flatMap(({ type, nacked }) =>
    nacked === undefined || !connected
      ? []
      : [
          {
            key: `nack ${node} ${type}`,
            texts: ['refused', node, typeName(type), nacked.message],
            html: () =>
              markup`${mark('bad', 'Refused by Envoy')} <a data-view href="${searchFor(node)}">${node}</a> ${typeName(type)}: <span class="lines">${nacked.message}</span>`,
          },
        ],
  )

const remoteConcern = (
  what: string,
  url: string,
  fetchedAt: string | undefined,
  error: string | undefined,
): Concern => ({
  key: `${what} ${url}`,
  texts: [what, url, error],
  html: () =>
    markup`${fetchedAt === undefined ? mark('bad', `No ${what}`) : mark('warn', `Old ${what}`)} <a data-view href="${searchFor(url)}">${url}</a> <span class="lines">${error ?? 'not fetched yet'}</span>`,
})
