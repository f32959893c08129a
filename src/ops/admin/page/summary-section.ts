// The figures at the top of the status page, each a link to its section.

import type { Work } from '../../../kit/turns.js'
import { isBad, isPartial } from '../../../model/status.js'
import type { Html } from '../html.js'
import { markup } from '../html.js'
import { countPolicies, type StatusReport } from '../status-report.js'
import type { MappedRoute } from './route-map.js'
import { type Item, type Level, mark, NO_HTML, type Section } from './section.js'

export function* summarySection(
  report: StatusReport,
  routes: readonly MappedRoute[],
): Work<Section> {
  const { ready, revision } = report
  return {
    id: 'summary',
    title: 'Summary',
    note: markup`<span class="dim">snapshot <code>${revision ?? 'none yet'}</code></span>`,
    items: [
      tile({ key: 'ready', to: 'attention', figure: ready ? 'Ready' : 'Not ready' }, [
        ready ? 'good' : 'bad',
        ready ? 'serving' : 'see below',
      ]),
      routesTile(routes),
      policiesTile(yield* countStates(report.resources)),
      envoysTile(report),
      keysTile(report.remote),
    ],
    foot: NO_HTML,
  }
}

interface Tile {
  readonly key: string
  /** Id of the section. */
  readonly to: string
  readonly figure: string | number
  readonly word?: string
}

const tile = ({ key, to, figure, word }: Tile, [level, state]: readonly [Level, string]): Item => ({
  key,
  html: markup`<li data-key="${key}"><a href="#${to}"><b>${figure}</b>${word === undefined ? NO_HTML : markup` <span>${word}</span>`}${stateLine(level, state)}</a></li>`,
})

const stateLine = (level: Level, state: string): Html => markup`<div>${mark(level, state)}</div>`

const plural = (count: number, one: string, many: string): string => (count === 1 ? one : many)

const hasProblem = ({ conditions }: StatusReport['resources'][number]): boolean =>
  conditions.some(isBad)

function routesTile(routes: readonly MappedRoute[]): Item {
  const open = routes.filter(({ isOpen }) => isOpen).length
  const refusing = routes.filter(({ isOpen, isRefusing }) => isRefusing && !isOpen).length
  return tile(
    {
      key: 'routes',
      to: 'routes',
      figure: routes.length,
      word: plural(routes.length, 'route', 'routes'),
    },
    open > 0
      ? ['bad', `${open} open`]
      : refusing > 0
        ? ['warn', `${refusing} refusing`]
        : routes.length === 0
          ? ['dim', 'none served']
          : ['good', 'none open'],
  )
}

/** Numbers of ProxyPolicies. */
interface PolicyStates {
  readonly all: number
  readonly troubled: number
  /** In force, but for a part that cannot work. */
  readonly partial: number
  readonly audited: number
}

/** Resources counted between two yields. */
const CHUNK = 256

function* countStates(resources: StatusReport['resources']): Work<PolicyStates> {
  const states = { all: 0, troubled: 0, partial: 0, audited: 0 }
  for (let from = 0; from < resources.length; from += CHUNK) {
    const policies = resources
      .slice(from, from + CHUNK)
      .filter(({ kind }) => kind === 'ProxyPolicy')
    states.all += policies.length
    states.troubled += policies.filter(hasProblem).length
    states.partial += policies.filter(({ conditions }) => conditions.some(isPartial)).length
    states.audited += countPolicies(policies).audited
    yield
  }
  return states
}

function policiesTile({ all, troubled, partial, audited }: PolicyStates): Item {
  return tile(
    { key: 'policies', to: 'resources', figure: all, word: plural(all, 'policy', 'policies') },
    troubled > 0
      ? ['bad', `${troubled} with a problem`]
      : partial > 0
        ? ['warn', `${partial} in part`]
        : audited > 0
          ? ['warn', `${audited} of mode Audit`]
          : all === 0
            ? ['dim', 'none read']
            : ['good', 'all in force'],
  )
}

function envoysTile({ envoys, isBesideOthers }: StatusReport): Item {
  if (isBesideOthers === true)
    return tile({ key: 'envoys', to: 'envoys', figure: 'Own', word: 'Envoys' }, [
      'dim',
      'configured by others',
    ])
  const connected = envoys.filter((envoy) => envoy.connected)
  const refusing = connected.filter(({ types }) => types.some(({ nacked }) => nacked !== undefined))
  const behind = connected.filter(({ types }) => types.some(({ sent, acked }) => sent !== acked))
  const figure = connected.length
  return tile(
    { key: 'envoys', to: 'envoys', figure, word: plural(figure, 'Envoy', 'Envoys') },
    figure === 0
      ? ['bad', 'none connected']
      : refusing.length > 0
        ? ['bad', `${refusing.length} refusing`]
        : behind.length > 0
          ? ['warn', `${behind.length} behind`]
          : ['good', 'up to date'],
  )
}

function keysTile(remote: StatusReport['remote']): Item {
  const missing = remote.filter(({ fetchedAt }) => fetchedAt === undefined).length
  const stale = remote.filter(({ error }) => error !== undefined).length
  return tile(
    {
      key: 'keys',
      to: 'keys',
      figure: remote.length,
      word: plural(remote.length, 'key document', 'key documents'),
    },
    missing > 0
      ? ['bad', `${missing} missing`]
      : stale > 0
        ? ['warn', `${stale} failing`]
        : remote.length === 0
          ? ['dim', 'none needed']
          : ['good', 'all fresh'],
  )
}
