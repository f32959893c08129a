// The virtual hosts that persist between revisions, after a revision that failed.

import { expect, test } from 'vitest'
import { createPlacements } from '../../../src/control/translate/routes/hosts/placements.js'
import type { OrderedRoute } from '../../../src/control/translate/routes/hosts/route-order.js'
import type { RouteChunk } from '../../../src/control/translate/routes/route-chunks.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { Route } from '../../../src/model/route.js'

const route = (name: string): OrderedRoute => ({
  route: { name } as Route,
  rank: 0,
  created: 0,
  httpRoute: 'shop/a',
  rule: 0,
  match: 0,
})

/** A route that cannot be placed the first time. */
function failingOnce(name: string): OrderedRoute {
  const { route: placed, ...rest } = route(name)
  let hasFailed = false
  return {
    ...rest,
    get route() {
      if (hasFailed) return placed
      hasFailed = true
      throw new Error('not now')
    },
  }
}

/** routes: by domain. */
function chunk(routes: Readonly<Record<string, OrderedRoute>>): RouteChunk {
  const domains = Object.entries(routes).map(([domain, one]) => [domain, [one]] as const)
  return { placed: new Map([['http', new Map(domains)]]) } as unknown as RouteChunk
}

test('a domain that fails does not lose the changes of those before it', () => {
  const placements = createPlacements()
  const hosts = () =>
    atOnce(placements.of('http').hosts(['gone', 'kept'])).map(({ domains, routes }) => [
      ...domains,
      ...routes.map(({ name }) => name),
    ])
  const shown = (routes: Parameters<typeof chunk>[0]) => {
    atOnce(placements.update([chunk(routes)]))
    return hosts
  }
  expect(shown({ a: route('a1'), b: route('b1'), c: route('c1') })()).toHaveLength(5)
  const next = { a: route('a2'), 'a-new': route('n'), c: failingOnce('c2') }
  expect(shown(next)).toThrow('not now')
  expect(hosts()).toEqual([['a', 'a2'], ['a-new', 'n'], ['c', 'c2'], ['gone'], ['kept']])
})
