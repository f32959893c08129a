// Runs once before these tests: provides the Envoy that scripts/test-kubernetes.mjs found, because the tests have no
// network to download one.

import type { TestProject } from 'vitest/node'

import '../../support/envoy.js'

export function setup(project: TestProject): void {
  project.provide('envoyPath', process.env['GATEHOUSE_TEST_ENVOY'] ?? 'envoy')
}
