// What the sections of the status page show, escape and bound, and what is sent when they change.

import { expect, test } from 'vitest'
import { atOnce } from '../../../../src/kit/turns.js'
import { readPageQuery } from '../../../../src/ops/admin/page/page-query.js'
import {
  pageSections,
  type PageState,
  SentSections,
} from '../../../../src/ops/admin/page/page-view.js'
import { type Section, sectionHtml } from '../../../../src/ops/admin/page/section.js'
import type { RecentDecision } from '../../../../src/ops/admin/recent-decisions.js'
import type { ReportedResource, StatusReport } from '../../../../src/ops/admin/status-report.js'
import { emptyReport, mappedRoute, pageState } from '../../../support/page-state.js'

const sectionsOf = (state: PageState, query = ''): readonly Section[] =>
  atOnce(pageSections(state, readPageQuery(query)))

function htmlOf(state: PageState, id: string, query = ''): string {
  const section = sectionsOf(state, query).find((one) => one.id === id)
  if (section === undefined) throw new Error(`no section ${id}`)
  return sectionHtml(section).text
}

const keysOf = (state: PageState, id: string, query = ''): readonly string[] =>
  sectionsOf(state, query)
    .find((one) => one.id === id)
    ?.items.map(({ key }) => key) ?? []

const resource = (name: string, over: Partial<ReportedResource> = {}): ReportedResource => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  namespace: 'default',
  name,
  source: `routes.yaml:${name.length}`,
  conditions: [],
  ...over,
})

const INVALID = { type: 'Accepted', status: 'False', reason: 'Invalid', message: 'odd' } as const

const decision = (id: string, fields: object = {}): RecentDecision => ({
  id,
  at: Date.UTC(2026, 0, 1),
  message: 'decision',
  fields: {
    decision: 'deny',
    reason: 'wrong-audience',
    status: 401,
    route: 'default/mcp',
    method: 'POST',
    host: 'mcp.example',
    path: '/mcp',
    ...fields,
  },
})

test('open routes come first, then reasons, Envoys, key sets and resources with problems', () => {
  const report = emptyReport({
    ready: false,
    reasons: ['Envoy is not running'],
    resources: [resource('bad', { conditions: [INVALID] }), resource('public', { open: true })],
    envoys: [
      {
        node: 'e1',
        cluster: '*',
        connected: true,
        types: [{ type: 'x.Listener', nacked: { version: '2', message: 'no', at: '' } }],
      },
    ],
    remote: [{ kind: 'KeySet', url: 'https://idp.example/jwks', error: 'refused' }],
  })
  expect(keysOf(pageState({ report }), 'attention')).toEqual([
    'open default/public',
    'Not ready Envoy is not running',
    'nack e1 x.Listener',
    'key set https://idp.example/jwks',
    'HTTPRoute default/bad routes.yaml:3',
  ])
})

test('a search narrows every section down', () => {
  const state = pageState({
    report: emptyReport({ resources: [resource('one', { open: true }), resource('two')] }),
    routes: [mappedRoute('default/one'), mappedRoute('default/two')],
    decisions: [decision('0-0'), decision('0-1', { route: 'default/two' })],
  })
  expect(keysOf(state, 'routes', 'q=two')).toEqual(['default/two'])
  expect(keysOf(state, 'decisions', 'q=two')).toEqual(['0-1'])
  expect(keysOf(state, 'attention', 'q=two')).toEqual([])
  expect(htmlOf(state, 'attention', 'q=two')).toContain('No problems match the search.')
  expect(htmlOf(state, 'routes', 'q=nothing')).toContain('No routes match the search.')
})

test('ten thousand routes are shown in pages, and the last page is shown for any beyond it', () => {
  const routes = Array.from({ length: 10_000 }, (_, index) => mappedRoute(`team/r${index}`))
  const state = pageState({ routes })
  expect(keysOf(state, 'routes')).toHaveLength(25)
  expect(keysOf(state, 'routes', 'routes=400')[0]).toBe('team/r9975')
  expect(keysOf(state, 'routes', 'routes=999999')[0]).toBe('team/r9975')
  expect(htmlOf(state, 'routes', 'routes=2')).toContain('26 to 50 of 10000 routes')
  expect(htmlOf(state, 'routes', 'routes=2&q=r1')).toContain('href="/?q=r1&amp;routes=3#routes"')
})

test.each(['', 'q=problem'])(
  'between two yields only a few of many resources and routes are looked at: %s',
  (query) => {
    let looks = 0
    const looked = <T extends object>(value: T, field: keyof T): T =>
      new Proxy(value, {
        get(target, name) {
          if (name === field) looks += 1
          return Reflect.get(target, name) as unknown
        },
      })
    const resources = Array.from({ length: 5_000 }, (_, index) =>
      looked(resource(`r${index}`, { kind: 'ProxyPolicy', conditions: [INVALID] }), 'conditions'),
    )
    const routes = Array.from({ length: 5_000 }, (_, index) =>
      looked(mappedRoute(`default/r${index}`), 'guards'),
    )
    const state = pageState({ report: emptyReport({ resources }), routes })
    const work = pageSections(state, readPageQuery(query))
    const steps: number[] = []
    for (let isDone = false; !isDone; steps.push(looks)) {
      looks = 0
      isDone = work.next().done === true
    }
    expect(Math.max(...steps)).toBeLessThan(2_000)
  },
)

test('a decision shows its reason, rule, what was expected, and whether the caller was verified', () => {
  const state = pageState({
    decisions: [
      decision('0-0', {
        policy: 'default/p',
        rule: 'matchExpressions[1]',
        source: 'p.yaml:12',
        ruleSource: 'p.yaml:41',
        sub: 'alice',
        verified: false,
        tool: 'delete',
        leftOut: 3,
        expected: { aud: ['mcp'] },
        got: { aud: 'web' },
      }),
    ],
  })
  const html = htmlOf(state, 'decisions')
  for (const text of ['wrong-audience', 'default/p', 'matchExpressions[1] · p.yaml:41', 'alice'])
    expect(html).toContain(text)
  for (const text of [
    'Not verified',
    'delete',
    'and 3 more',
    '{&quot;aud&quot;:[&quot;mcp&quot;]}',
  ])
    expect(html).toContain(text)
})

test('a decision is offered to be explained only where its line has all that decided it', () => {
  const explained = (fields: object, message = 'decision'): string =>
    htmlOf(pageState({ decisions: [{ ...decision('0-0', fields), message }] }), 'decisions')
  const link = 'href="/explain?request=POST+http%3A%2F%2Fmcp.example%2Fmcp"'
  for (const reason of ['no-token', 'no-policy', 'broken-policy'])
    expect(explained({ reason })).toContain(link)
  const ofToken = explained({ reason: 'wrong-audience' })
  expect(ofToken).not.toContain('href="/explain')
  expect(ofToken).toContain('gatehouse explain --admin 127.0.0.1:18001 --token TOKEN_FILE')
  for (const reason of ['no-rule-allows', 'denied-by-rule', 'insufficient-scope', 'not-a-message'])
    expect(explained({ reason })).not.toMatch(/gatehouse explain|href="\/explain/)
  expect(explained({ reason: 'no-token', mode: 'audit' })).not.toContain(link)
  expect(explained({ reason: 'no-token' }, 'login answer')).not.toContain(link)
})

test('a policy that is in force in part is amber, and needs attention', () => {
  const partial = resource('p', {
    kind: 'ProxyPolicy',
    conditions: [
      { type: 'Accepted', status: 'True', reason: 'PartiallyValid', message: 'no login' },
    ],
  })
  const state = pageState({ report: emptyReport({ resources: [partial] }) })
  for (const section of ['attention', 'resources', 'summary'])
    expect(htmlOf(state, section)).toContain('class="mark warn"')
  expect(htmlOf(state, 'attention')).toContain('no login')
  expect(htmlOf(state, 'attention')).not.toContain('class="mark bad"')
  expect(htmlOf(state, 'summary')).toContain('1 in part')
})

test('Envoys that others configure are not missed', () => {
  const of = (report: Partial<StatusReport>): string =>
    ['summary', 'envoys'].map((id) => htmlOf(pageState({ report: emptyReport(report) }), id)).join()
  expect(of({})).toMatch(/none connected/i)
  expect(of({ isBesideOthers: true })).not.toMatch(/none connected|<b>0<\/b> <span>Envoys/i)
  expect(of({ isBesideOthers: true })).toContain('configured by others')
})

test('without a decision log the page says so', () => {
  const { report, routes, explain } = pageState()
  expect(htmlOf({ report, routes, explain }, 'decisions')).toContain('--decision-log none')
})

test('whatever clients, tenants and providers wrote is escaped', () => {
  const evil = `"><img src=x onerror=alert(1)><script>'`
  const state = pageState({
    report: emptyReport({
      ready: false,
      reasons: [evil],
      resources: [resource(evil, { open: true, conditions: [{ ...INVALID, message: evil }] })],
      envoys: [
        {
          node: evil,
          cluster: evil,
          connected: true,
          types: [{ type: evil, sent: evil, nacked: { version: evil, message: evil, at: evil } }],
        },
      ],
      remote: [{ kind: 'KeySet', url: evil, error: evil }],
    }),
    routes: [
      mappedRoute(evil, {
        places: { first: [evil], count: 1 },
        policies: [{ policy: evil, source: evil, sets: [evil], isAudit: false }],
        issuers: [{ issuer: evil, keysUrl: evil }],
        webhooks: [{ backend: evil, phases: ['request'], failsOpen: true }],
      }),
    ],
    decisions: [
      decision('0-0', {
        host: evil,
        path: evil,
        sub: evil,
        reason: evil,
        route: evil,
        policy: evil,
        rule: evil,
        source: evil,
        tool: evil,
        claims: { a: evil },
        webhook: evil,
        expected: evil,
        got: evil,
        requestId: evil,
        mode: 'audit',
      }),
    ],
  })
  const html = sectionsOf(state)
    .map((section) => sectionHtml(section).text)
    .join('')
  expect(html).not.toMatch(/<img|<script/)
  expect(html.match(/&lt;img/g)?.length).toBeGreaterThan(20)
})

test('a visitor is sent everything once, and then only what has changed', () => {
  const sent = new SentSections()
  const routes = ['a', 'b', 'c'].map((name) => mappedRoute(name))
  const first = sent.update(sectionsOf(pageState({ routes })))
  expect(first.map(({ id }) => id)).toEqual([
    'summary',
    'attention',
    'routes',
    'decisions',
    'keys',
    'envoys',
    'resources',
  ])
  expect(first.find(({ id }) => id === 'routes')?.keys).toEqual(['a', 'b', 'c'])
  expect(sent.update(sectionsOf(pageState({ routes })))).toEqual([])

  const changed = [routes[0] ?? [], mappedRoute('b', { isRefusing: true }), routes[2] ?? []].flat()
  const second = sent.update(sectionsOf(pageState({ routes: changed })))
  const map = second.find(({ id }) => id === 'routes')
  expect(Object.keys(map?.items ?? {})).toEqual(['b'])
  expect(map).not.toHaveProperty('keys')

  const third = sent.update(sectionsOf(pageState({ routes: changed.slice(1) })))
  expect(third.find(({ id }) => id === 'routes')).toMatchObject({ keys: ['b', 'c'] })
  expect(third.find(({ id }) => id === 'routes')).not.toHaveProperty('items')
})
