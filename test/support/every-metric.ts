// Lists every metric of /metrics with its type and labels, read from the output after each event has happened once.

import { noRefusals } from '../../src/addons/provision/envoy-tokens.js'
import { createMetrics, type Metrics } from '../../src/ops/admin/metrics.js'

export interface ServedMetric {
  readonly name: string
  readonly type: string
  /** Sorted label names, without those that the metric type adds. */
  readonly labels: readonly string[]
}

export async function everyMetric(): Promise<readonly ServedMetric[]> {
  const metrics = createMetrics()
  useAll(metrics)
  const text = await metrics.text()
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => ({
    name,
    type,
    labels: labelsOf(text, name),
  }))
}

function labelsOf(text: string, name: string): readonly string[] {
  const series = text.matchAll(
    new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? \\S+$`, 'gm'),
  )
  const labels = [...series].flatMap(([, inside = '']) =>
    [...inside.matchAll(/(\w+)="/g)].map(([, label]) => label ?? ''),
  )
  return [...new Set(labels)].filter((label) => label !== 'le' && label !== 'quantile').sort()
}

/** Triggers every event. A missing one leaves its metric without labels, and the comparison fails. */
function useAll(metrics: Metrics): void {
  metrics.xdsNack('Listener', 'envoy')
  metrics.xdsPush('Listener')
  metrics.checks.observe('default/a', 'allow', 'allowed', 0.001)
  metrics.checks.audited('default/a', 'deny', 'rule')
  const verdict = { webhook: 'words', phase: 'request' }
  metrics.guardrails.verdict({ ...verdict, outcome: 'reject', mode: 'audit' }, 0.001)
  metrics.guardrails.verdict({ ...verdict, outcome: 'fail-open', reason: 'timeout' }, 0.001)
  metrics.guardrails.headerBudgetExceeded('words')
  metrics.guardrails.tokens('default/a', { model: 'm', inputTokens: 1, outputTokens: 1 })
  metrics.streams.opened('guard')
  metrics.keySetFetch('success')
  metrics.translationFailed()
  metrics.exported('file', 'decisions', 'sent', 1)
  metrics.workerEnded()
  metrics.state({
    resources: () => [{ kind: 'ProxyPolicy', accepted: true, count: 1 }],
    policies: () => ({ attached: 1, audited: 0, refused: 0, without_target: 0, pending: 0 }),
    openRoutes: () => 0,
    envoys: () => new Map([['1.40.0', 1]]),
    tokenRefusals: noRefusals,
    keySets: () => [
      { url: 'https://a', hasKeys: true, isFailing: false, fetchedAt: 1, attemptedAt: 1 },
    ],
  })
}
