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
