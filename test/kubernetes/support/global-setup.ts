// Runs once before these tests: provides the Envoy that scripts/test-kubernetes.mjs found, because the tests have no
// network to download one. Ends the API servers that they shared when they have run.

import type { TestProject } from 'vitest/node'
import { provideSharedProcesses } from '../../support/shared-processes.js'

import '../../support/envoy.js'

export function setup(project: TestProject): () => Promise<void> {
  project.provide('envoyPath', process.env['GATEHOUSE_TEST_ENVOY'] ?? 'envoy')
  return provideSharedProcesses(project)
}
