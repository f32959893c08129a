// Writes an explanation as text for a terminal.

import type { ExplainedAudit, ExplainedStep, Explanation } from './explanation.js'
import { shown } from './show-values.js'

const LABEL_WIDTH = 10

/** Returns the lines of --format text, with a line end. */
export function explanationText(explanation: Explanation): string {
  const { request, steps, audit, changes, notes } = explanation
  const sections = [
    [`${request.method} ${request.url}`],
    placeLines(explanation),
    steps.map(stepLine),
    answerLines(explanation),
    ...(audit === undefined ? [] : [auditLines(audit), section(AUDIT_CHANGES, audit.changes)]),
    section('what would change it', changes),
    section('notes', notes),
  ]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

const AUDIT_CHANGES = 'what would change the audit'

function auditLines({ decision, reason, status, steps }: ExplainedAudit): readonly string[] {
  const would = decision === 'allow' ? 'allow the request' : `deny with ${String(status ?? '')}`
  const head = `in mode Enforce, the policies of mode Audit would ${would} (reason ${reason})`
  return [labelled('audit', head), ...steps.map(stepLine)]
}

const labelled = (label: string, text: string): string => `${label.padEnd(LABEL_WIDTH)}${text}`

function placeLines({ place, policies }: Explanation): readonly string[] {
  const { gateway, listener, host, route } = place
  const lines: string[] = []
  if (listener !== undefined)
    lines.push(labelled('listener', `${listener.name} (${listener.protocol} of ${gateway ?? ''})`))
  if (host !== undefined) lines.push(labelled('host', host))
  if (route !== undefined) {
    const source = route.source === undefined ? '' : ` (${route.source})`
    const rule = `rules[${String(route.rule)}]`
    lines.push(labelled('route', `${route.httpRoute} ${rule}${source}: ${route.match}`))
  }
  for (const { policy, source, parts } of policies)
    lines.push(labelled('policy', `${policy} (${source}): ${parts.join(', ')}`))
  return lines
}

const MARKS = { passed: 'ok', failed: 'NO', noted: '--' } as const

function stepLine({ name, result, text, read }: ExplainedStep, index: number): string {
  const values = Object.entries(read ?? {}).map(([key, value]) => `${key} = ${shown(value)}`)
  const head = `${String(index + 1).padStart(2)}. ${MARKS[result]}  ${name}: ${text}`
  return values.length === 0 ? head : `${head}\n        read ${values.join(', ')}`
}

function answerLines({ result, answer }: Explanation): readonly string[] {
  const status = answer.status === undefined ? '' : `${String(answer.status)} `
  const reason = answer.reason === undefined ? '' : ` (reason ${answer.reason})`
  const from = answer.from === 'nobody' ? 'none' : `${status}from ${answer.from}`
  return [
    labelled('result', result),
    labelled('answer', `${from}${reason}: ${answer.text}`),
    ...(answer.headers ?? []).map(([name, value]) => labelled('', `${name}: ${value}`)),
    ...(answer.body === undefined ? [] : [labelled('', answer.body)]),
  ]
}

const section = (title: string, sentences: readonly string[]): readonly string[] =>
  sentences.length === 0 ? [] : [title, ...sentences.map((sentence) => `  - ${sentence}`)]
