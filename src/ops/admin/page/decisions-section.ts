// Recent decisions of the status page, newest first, each with its reason and how to have it explained.

import { type Html, markup } from '../html.js'
import type { RecentDecision } from '../recent-decisions.js'
import { explainCommand, type ExplainWhere, requestToExplain } from './explain-link.js'
import { type PageQuery, searchFor, searchTest } from './page-query.js'
import {
  code,
  type Item,
  type Level,
  mark,
  NO_HTML,
  paged,
  row,
  type Section,
  time,
} from './section.js'

const PAGE_SIZE = 25
const HEADS = ['When', 'Decision', 'Request', 'Route and rule', 'Caller', 'Explain'] as const

/** What the section shows. */
export interface DecisionsShown {
  /** Newest first; absent: the decision log is off. */
  readonly decisions?: readonly RecentDecision[]
  readonly explain: ExplainWhere
}

/** Returns the section of recent decisions. */
export function decisionsSection(
  { decisions, explain }: DecisionsShown,
  query: PageQuery,
): Section {
  const matches = searchTest(query.search)
  const matching = (decisions ?? []).filter(({ fields }) => matches(() => textsOf(fields)))
  const { shown, foot } = paged(matching, {
    list: 'decisions',
    size: PAGE_SIZE,
    query,
    nouns: 'decisions',
    empty:
      decisions === undefined
        ? 'The decision log is off (--decision-log none).'
        : 'None yet. Denied and changed requests appear here; allowed ones too with --decision-log all.',
  })
  return {
    id: 'decisions',
    title: 'Recent decisions',
    heads: HEADS,
    note: markup`<span class="dim">the latest ${decisions?.length ?? 0}; repeated ones are summed up</span>`,
    items: shown.map((decision) => itemOf(decision, explain)),
    foot,
  }
}

type Fields = RecentDecision['fields']

const textsOf = (fields: Fields): readonly string[] =>
  Object.values(fields).map((value) =>
    typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
  )

/** Returns a field as text; empty: it is absent. */
function text(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function itemOf(decision: RecentDecision, explain: ExplainWhere): Item {
  const { id, at, fields } = decision
  return row(id, HEADS, [
    time(new Date(at).toISOString()),
    verdictOf(fields),
    requestOf(fields),
    placeOf(fields),
    callerOf(fields),
    explanationOf(decision, explain),
  ])
}

const WORDS: Readonly<Record<string, readonly [Level, string]>> = {
  deny: ['bad', 'Denied'],
  change: ['warn', 'Changed'],
  allow: ['good', 'Allowed'],
}

function verdictOf(fields: Fields): Html {
  const [level, word] = WORDS[text(fields, 'decision')] ?? ['dim', text(fields, 'decision')]
  const isAudit = fields['mode'] === 'audit'
  const leftOut = fields['leftOut']
  const more =
    typeof leftOut === 'number' && leftOut > 0
      ? markup`<div class="dim">and ${leftOut} more like it before</div>`
      : NO_HTML
  return markup`${isAudit ? mark('warn', `Audit: ${word.toLowerCase()}`) : mark(level, word)} ${text(fields, 'status')}
<div>${text(fields, 'reason') || text(fields, 'outcome')}</div>${contrast(fields)}${more}`
}

/** What was expected of the token and what it had. */
function contrast({ expected, got }: Fields): Html {
  if (expected === undefined || got === undefined) return NO_HTML
  return markup`<div class="dim">expected <code>${JSON.stringify(expected)}</code>, got <code>${JSON.stringify(got)}</code></div>`
}

function requestOf(fields: Fields): Html {
  const tool = text(fields, 'tool')
  const id = text(fields, 'requestId')
  return markup`${code(`${text(fields, 'method')} ${text(fields, 'host')}${text(fields, 'path')}`)}
${tool === '' ? NO_HTML : markup`<div>tool ${code(tool)}</div>`}${id === '' ? NO_HTML : markup`<div class="dim">id ${id}</div>`}`
}

function placeOf(fields: Fields): Html {
  const [route, policy] = [text(fields, 'route'), text(fields, 'policy')]
  const source = text(fields, 'ruleSource') || text(fields, 'source')
  const rule = [text(fields, 'rule'), source].filter((part) => part !== '')
  return markup`<a data-view href="${searchFor(route)}">${route}</a>${
    policy === ''
      ? NO_HTML
      : markup`<div>policy <a data-view href="${searchFor(policy)}">${policy}</a></div><div class="dim">${rule.join(' · ')}</div>`
  }${text(fields, 'webhook') === '' ? NO_HTML : markup`<div class="dim">webhook ${text(fields, 'webhook')}</div>`}`
}

function callerOf(fields: Fields): Html {
  const names = ['sub', 'client_id', 'iss'].filter((name) => text(fields, name) !== '')
  if (names.length === 0) return markup`<span class="dim">unknown</span>`
  return markup`${fields['verified'] === true ? NO_HTML : mark('warn', 'Not verified')}${names.map(
    (name) => markup`<div><span class="dim">${name}</span> ${text(fields, name)}</div>`,
  )}${fields['claims'] === undefined ? NO_HTML : markup`<div class="dim">${JSON.stringify(fields['claims'])}</div>`}`
}

/** Reasons that the place of a request alone brings about. */
const OF_PLACES: ReadonlySet<string> = new Set(['no-token', 'no-policy', 'broken-policy'])
/** Reasons that its token brings about, whatever else the request had. */
const OF_TOKENS: ReadonlySet<string> = new Set([
  'wrong-issuer',
  'unknown-issuer',
  'wrong-audience',
  'wrong-type',
  'malformed-token',
  'malformed-claims',
  'no-expiry',
  'expired',
  'not-yet-valid',
  'unknown-key',
  'bad-signature',
])

/** Offers what answers the question that was decided: a line has neither token, headers nor body of its request. */
function explanationOf({ message, fields }: RecentDecision, where: ExplainWhere): Html {
  const reason = text(fields, 'reason')
  const isOurs = message === 'decision' && fields['mode'] !== 'audit'
  const request = requestToExplain(
    { method: text(fields, 'method'), host: text(fields, 'host'), path: text(fields, 'path') },
    where,
  )
  if (isOurs && request !== undefined && OF_PLACES.has(reason))
    return markup`<a href="/explain?${new URLSearchParams({ request }).toString()}">Explain</a>`
  if (isOurs && request !== undefined && OF_TOKENS.has(reason))
    return markup`<details><summary>Explain</summary>
<p class="dim">With the token in a file:</p><code class="command">${explainCommand(request, where)}</code><button type="button" class="script" data-copy>Copy</button></details>`
  return markup`<span class="dim">not without the whole request</span>`
}
