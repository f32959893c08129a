// npm run manifests: deploy/kubernetes.yaml, the Helm chart with its default values as plain YAML. --check: says whether
// it is fresh, and writes nothing.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findHelm } from './helm.mjs'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

const TARGET = join(root, 'deploy/kubernetes.yaml')
const NAMESPACE = 'gatehouse'
/** A helm that go has built takes itself to speak to Kubernetes 1.20. */
const HELM_FLAGS = [
  '--namespace',
  NAMESPACE,
  '--include-crds',
  '--skip-tests',
  '--kube-version',
  '1.35.0',
]
const HEAD = `# Gatehouse in the namespace "${NAMESPACE}": the Helm chart in deploy/helm/gatehouse with its default values, made by
# \`npm run manifests\`. Edit the chart, not this file. docs/kubernetes.md says what to apply before it.
---
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`

const say = (text) => process.stderr.write(`manifests: ${text}\n`)

await runScript(() => {
  const helm = process.env['GATEHOUSE_TEST_HELM'] ?? findHelm(say)
  const chart = join(root, 'deploy/helm/gatehouse')
  const args = ['template', 'gatehouse', chart, ...HELM_FLAGS]
  const text = HEAD + plain(execFileSync(helm, args, { encoding: 'utf8' }))
  if (!process.argv.includes('--check')) writeFileSync(TARGET, text)
  else if (readFileSync(TARGET, 'utf8') !== text) {
    say('deploy/kubernetes.yaml is stale: npm run manifests')
    return 1
  }
  return 0
})

/** Nothing of it is Helm's any more. */
function plain(text) {
  return text
    .split('\n')
    .filter((line) => !/^# Source: |^ +app\.kubernetes\.io\/managed-by: /.test(line))
    .join('\n')
    .replace(/(^---\n)+/gm, '---\n')
}
