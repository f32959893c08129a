// node scripts/manifests.mjs: writes deploy/kubernetes.yaml, the Helm chart with its default values as plain YAML. With --check
// it only reports whether the file is up to date.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findHelm } from './helm.mjs'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

const TARGET = join(root, 'deploy/kubernetes.yaml')
const NAMESPACE = 'gatehouse'
/** --kube-version is needed because a helm built with plain `go build` assumes Kubernetes 1.20. */
const HELM_FLAGS = [
  '--namespace',
  NAMESPACE,
  '--include-crds',
  '--skip-tests',
  '--kube-version',
  '1.35.0',
]
const HEAD = `# Gatehouse in the namespace "${NAMESPACE}": the Helm chart in deploy/helm/gatehouse with its default values, made by
# \`node scripts/manifests.mjs\`. Edit the chart, not this file. docs/kubernetes.md says what to apply before it.
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
    say('deploy/kubernetes.yaml is stale: node scripts/manifests.mjs')
    return 1
  }
  return 0
})

/** Removes the traces of Helm. */
function plain(text) {
  return text
    .split('\n')
    .filter((line) => !/^# Source: |^ +app\.kubernetes\.io\/managed-by: /.test(line))
    .join('\n')
    .replace(/(^---\n)+/gm, '---\n')
}
