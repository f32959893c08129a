// Prints metrics in Prometheus' text format, in slices: with thousands of routes prom-client takes a tenth of a second.

import { joinTexts, Pace, type Work } from '../turns.js'
import type { MetricsJson, PlainMetric, PlainValue } from './merged-metrics.js'

/** Returns the text of all metrics. */
export function* metricsText(metrics: MetricsJson, pace = new Pace()): Work<string> {
  const out: string[] = []
  for (const { name, help, type, values } of metrics as readonly PlainMetric[]) {
    const gap = out.length === 0 ? '' : '\n'
    out.push(`${gap}# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`)
    for (const value of values) {
      if (pace.isDue(LINE_UNITS)) yield
      out.push(lineOf(name, value))
    }
  }
  return yield* joinTexts(out, pace)
}

/** A line costs as much as looking at this many JSON values. */
const LINE_UNITS = 8

function lineOf(name: string, { metricName = name, labels = {}, value }: PlainValue): string {
  const pairs: string[] = []
  for (const label in labels) pairs.push(`${label}="${labelText(labels[label] ?? '')}"`)
  return `${metricName}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}\n`
}

const labelText = (value: string | number): string =>
  typeof value === 'string' ? escaped(value).replaceAll('"', '\\"') : String(value)

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf'
}
