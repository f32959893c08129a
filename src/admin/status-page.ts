// A status report → the page at /: what is in force, what is not and why. No scripts, nothing from elsewhere.

import type { Condition } from '../ir/status.js'
import { Html, markup } from './html.js'
import type {
  EnvoyReport,
  EnvoyTypeReport,
  RemoteReport,
  ReportedResource,
  StatusReport,
} from './status-report.js'

export const STYLE = `
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --dim: #6e7781; --line: #d0d7de; }
@media (prefers-color-scheme: dark) {
  :root { --good: #3fb950; --bad: #f85149; --dim: #8b949e; --line: #30363d; }
  body { background: #0d1117; color: #e6edf3; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .dim { color: var(--dim); }
code { font: 13px/1.5 ui-monospace, monospace; }
`

/** A whole document. */
export function statusPage(report: StatusReport): string {
  const state = report.ready
    ? markup`<p class="good">Ready.</p>`
    : markup`<p class="bad">Not ready: ${report.reasons.join('; ')}</p>`
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Gatehouse</title><link rel="icon" href="data:,"><style>${new Html(STYLE)}</style></head><body>
<h1>Gatehouse</h1>${state}
<p class="dim">Snapshot <code>${report.revision ?? 'none yet'}</code>. See also
<a href="/status">/status</a>, <a href="/metrics">/metrics</a>, <a href="/config_dump">/config_dump</a>.</p>
<h2>Resources</h2>${resourceTable(report.resources)}
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

const resourceTable = (resources: readonly ReportedResource[]): Html =>
  table(
    ['Kind', 'Name', 'Conditions', 'Source'],
    resources.map(
      (resource) =>
        markup`<tr>
          <td>${resource.kind}</td>
          <td>${fullName(resource)}</td>
          <td>${conditions(resource)}</td>
          <td class="dim">${resource.source}</td>
        </tr>`,
    ),
    'None were read yet.',
  )

const fullName = ({ namespace, name }: ReportedResource): string =>
  namespace === '' ? name : `${namespace}/${name}`

function conditions(resource: ReportedResource): Html | string {
  if (resource.conditions.length === 0) return ''
  return markup`${resource.conditions.map(
    (condition) =>
      markup`<div>
        <span class="${condition.status === 'True' ? 'good' : 'bad'}"
          >${condition.type}=${condition.status}</span
        >
        ${reason(condition)}
      </div>`,
  )}`
}

function reason({ reason, message, ancestor }: Condition): string {
  const where = ancestor === undefined ? '' : ` (${ancestor})`
  return `${reason}${where}${message === '' ? '' : `: ${message}`}`
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
    <td>${envoy.node}${gone}</td>
    <td>${envoy.cluster}</td>
    <td>${type.slice(type.lastIndexOf('.') + 1)}</td>
    <td><code>${sent ?? ''}</code></td>
    <td class="${current}"><code>${acked ?? ''}</code></td>
    <td class="bad">${refusal}</td>
  </tr>`
}

const remoteTable = (documents: readonly RemoteReport[]): Html =>
  table(
    ['What', 'URL', 'Age', 'Last error'],
    documents.map(
      ({ kind, url, ageSeconds, error }) =>
        markup`<tr>
          <td>${kind}</td>
          <td>${url}</td>
          <td class="${ageSeconds === undefined ? 'bad' : 'good'}">
            ${ageSeconds === undefined ? 'never fetched' : `${ageSeconds} s`}
          </td>
          <td class="bad">${error ?? ''}</td>
        </tr>`,
    ),
    'None are needed.',
  )
