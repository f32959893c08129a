import { expect, test } from 'vitest'
import { createMetrics } from '../../src/admin/metrics.js'

test('nodes that make up names make no series without end', async () => {
  const metrics = createMetrics()
  metrics.xdsNack('Listener', 'envoy-1')
  for (let i = 0; i < 5000; i++) metrics.xdsNack('Listener', `${i} ${'x'.repeat(1000)}`)
  metrics.xdsNack('Listener', 'envoy-1')
  const lines = (await metrics.text())
    .split('\n')
    .filter((line) => /^gatehouse_xds_nacks/.test(line))
  expect(lines).toContain('gatehouse_xds_nacks_total{type="Listener",node="envoy-1"} 2')
  expect(lines).toContain('gatehouse_xds_nacks_total{type="Listener",node="other"} 4901')
  expect(lines).toHaveLength(101)
  expect(lines.join('').length).toBeLessThan(20_000)
})

test('checks are counted by route, decision and reason, from one reading to the next', async () => {
  const metrics = createMetrics()
  const { checks } = metrics
  const counts = async (): Promise<readonly string[]> =>
    (await metrics.text())
      .split('\n')
      .filter((line) => /^gatehouse_check(s_total|_.*count)/.test(line))
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  checks.observe('default/a', 'deny', 'rule', 0.001)
  checks.observe('default/b', 'allow', 'allowed', 0.001)
  await counts()
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  expect((await counts()).toSorted()).toEqual([
    'gatehouse_check_duration_seconds_count 5',
    'gatehouse_checks_total{route="default/a",decision="allow",reason="allowed"} 3',
    'gatehouse_checks_total{route="default/a",decision="deny",reason="rule"} 1',
    'gatehouse_checks_total{route="default/b",decision="allow",reason="allowed"} 1',
  ])
})
