// Renders a status report as the page at /: what is in force, what is not and why. Uses no scripts and loads nothing.

import { AUDIT, isBad, remarksOf } from '../ir/status.js'
import { Html, markup } from './html.js'
import type { ReportedResource } from './status-report.js'
import {
  type EnvoyReport,
  type EnvoyTypeReport,
  type RemoteReport,
  type ReportedCondition,
  type StatusReport,
  typeName,
} from './status-report.js'

export const STYLE = `
:root { color-scheme: light dark; --page: #f6f8fa; --card: #fff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0;
  --good: #1a7f37; --good-back: #dafbe1; --bad: #cf222e; --bad-back: #ffebe9;
  --warn: #9a6700; --warn-back: #fff8c5; --link: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --card: #151b23; --text: #e6edf3; --dim: #9198a1; --line: #30363d;
    --good: #3fb950; --good-back: #12261e; --bad: #ff7b72; --bad-back: #2d1517;
    --warn: #d29922; --warn-back: #272115; --link: #58a6ff; }
}
* { box-sizing: border-box; }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 75rem; padding: 1.5rem 1rem 3rem; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; }
header nav { margin-left: auto; display: flex; flex-wrap: wrap; gap: 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
.pill { border-radius: 1rem; font-size: .8rem; padding: .05rem .6rem; white-space: nowrap; display: inline-block;
  margin-right: .35rem; }
.pill.good { background: var(--good-back); } .pill.bad { background: var(--bad-back); }
.pill.warn { background: var(--warn-back); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .dim { color: var(--dim); font-size: .87rem; }
.trouble { background: var(--bad-back); border-radius: 6px; margin: 1rem 0; padding: .6rem 1rem; }
table { background: var(--card); border: 1px solid var(--line); border-radius: 6px; border-spacing: 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .5rem .9rem; overflow-wrap: break-word; }
td { border-top: 1px solid var(--line); }
th { color: var(--dim); font-size: .8rem; font-weight: 600; }
td.wrap { overflow-wrap: anywhere; } td.first { font-weight: 600; }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
td code { white-space: nowrap; }
.said { margin: .15rem 0; overflow-wrap: anywhere; } .lines { white-space: pre-line; }
td.source { min-width: 9rem; }
@media (max-width: 45rem) {
  th { display: none; } tr, td { display: block; } td { border: 0; padding: .1rem .9rem; }
  tr { border-top: 1px solid var(--line); padding: .5rem 0; } tr:first-child { border: 0; padding: 0; }
  td:empty { display: none; } td[data-head]::before { content: attr(data-head) ": "; color: var(--dim); }
  header nav { margin-left: 0; width: 100%; }
}
`

/** Returns the whole HTML document. */
export function statusPage(report: StatusReport): string {
  const state = report.ready
    ? markup`<span class="pill good">Ready</span>`
    : markup`<span class="pill bad">Not ready</span>`
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Gatehouse</title><link rel="icon" href="data:,"><style>${new Html(STYLE)}</style></head><body>
<header><h1>Gatehouse</h1>${state}<span class="dim">snapshot <code>${report.revision ?? 'none yet'}</code></span>
<nav><a href="/status">/status</a><a href="/metrics">/metrics</a><a href="/config_dump">/config_dump</a></nav></header>
${report.reasons.map((reason) => markup`<p class="trouble">${reason}</p>`)}
<h2>Resources ${resourceCount(report.resources)}</h2>${resourceTable(report.resources)}
<h2>Envoys</h2>${envoyTable(report.envoys)}
<h2>Key sets and discovery documents</h2>${remoteTable(report.remote)}
</body></html>
`.text
}

function table(heads: readonly string[], rows: readonly Html[], empty: string): Html {
  if (rows.length === 0) return markup`<p class="dim">${empty}</p>`
  return markup`<table>
    <tr>
      ${heads.map((head) => markup`<th>${head}</th>`)}
    </tr>
    ${rows}
  </table>`
}

const isTroubled = ({ conditions }: ReportedResource): boolean => conditions.some(isBad)

const isOpen = ({ open }: ReportedResource): boolean => open === true

function resourceCount(resources: readonly ReportedResource[]): Html | string {
  if (resources.length === 0) return ''
  const troubled = resources.filter(isTroubled).length
  const open = resources.filter(isOpen).length
  const state =
    troubled === 0
      ? markup`<span class="pill good">${resources.length}, all well</span>`
      : markup`<span class="pill bad">${troubled} of ${resources.length} with a problem</span>`
  if (open === 0) return state
  return markup`${state}<span class="pill bad">${open} open ${open === 1 ? 'route' : 'routes'}</span>`
}

/** Order of the table: open routes, then resources with problems, then the rest. */
const rank = (resource: ReportedResource): number =>
  isOpen(resource) ? 0 : isTroubled(resource) ? 1 : 2

const resourceTable = (resources: readonly ReportedResource[]): Html =>
  table(
    ['Kind', 'Name', 'Conditions', 'Source'],
    resources
      .toSorted((a, b) => rank(a) - rank(b))
      .map(
        (resource) =>
          markup`<tr>
          <td class="first">${resource.kind}</td>
          <td>${fullName(resource)}</td>
          <td>${isOpen(resource) ? OPEN : ''}${conditions(resource)}</td>
          <td class="dim wrap source">${resource.source}</td>
        </tr>`,
      ),
    'None were read yet.',
  )

const OPEN = markup`<div class="said">
  <span class="pill bad">open</span>No policy decides who may use this route.
</div>`

const fullName = ({ namespace, name }: ReportedResource): string =>
  namespace === '' ? name : `${namespace}/${name}`

/** A good condition shows only its name; a bad one shows all its details. */
const conditions = (resource: ReportedResource): readonly Html[] => resource.conditions.map(pill)

function pill(condition: ReportedCondition): Html {
  const { type, status, reason, message, ancestor, section } = condition
  const place = [ancestor, section].filter((part) => part !== undefined).join(' ')
  if (isBad(condition))
    return markup`<div class="said">
      <span class="pill bad">${type}=${status}</span><b>${reason}</b>${place === '' ? '' : ` on ${place}`}: <span class="lines">${message}</span>
    </div>`
  const remarks = remarksOf(condition)
  const colour = reason === AUDIT ? 'warn' : 'good'
  return markup`<span class="pill ${colour}" title="${`${place} ${reason}: ${message}`.trim()}"
      >${section === undefined ? type : `${section}: ${type}`}</span
    >${remarks.map((remark) => markup`<div class="said dim">${remark}</div>`)}`
}

const envoyTable = (envoys: readonly EnvoyReport[]): Html =>
  table(
    ['Node', 'Serves', 'Type', 'Sent', 'Accepted', 'Refused'],
    envoys.flatMap((envoy) => envoy.types.map((type) => envoyRow(envoy, type))),
    'None has connected yet.',
  )

function envoyRow(envoy: EnvoyReport, { type, sent, acked, nacked }: EnvoyTypeReport): Html {
  const gone = envoy.connected ? '' : ' (gone)'
  const current = sent !== undefined && acked === sent ? 'good' : 'dim'
  const refusal = nacked === undefined ? '' : `${nacked.at} ${nacked.version}: ${nacked.message}`
  return markup`<tr>
    <td class="first">${envoy.node}${gone}</td>
    <td data-head="serves">${envoy.cluster}</td>
    <td>${typeName(type)}</td>
    <td data-head="sent">${code(sent)}</td>
    <td data-head="accepted" class="${current}">${code(acked)}</td>
    <td class="bad wrap">${refusal}</td>
  </tr>`
}

const code = (text: string | undefined): Html | string =>
  text === undefined ? '' : markup`<code>${text}</code>`

const remoteTable = (documents: readonly RemoteReport[]): Html =>
  table(
    ['What', 'URL', 'Age', 'Last error'],
    documents.map(
      ({ kind, url, ageSeconds, error }) =>
        markup`<tr>
          <td class="first">${kind === 'KeySet' ? 'Key set' : 'Discovery'}</td>
          <td class="wrap">${url}</td>
          <td data-head="age" class="${ageSeconds === undefined ? 'bad' : 'good'}">
            ${ageSeconds === undefined ? 'never fetched' : `${ageSeconds} s`}
          </td>
          <td class="bad wrap">${error ?? ''}</td>
        </tr>`,
    ),
    'None are needed.',
  )
