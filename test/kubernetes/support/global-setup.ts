// Once before these tests: the Envoy that scripts/test-kubernetes.mjs has found, as there is no network here to get one.

import type { TestProject } from 'vitest/node'

import '../../support/envoy.js'

export function setup(project: TestProject): void {
  project.provide('envoyPath', process.env['GATEHOUSE_TEST_ENVOY'] ?? 'envoy')
}
