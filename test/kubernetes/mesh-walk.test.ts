// The walk of docs/mesh.md: what its helm command installs runs Gatehouse with the flags that the page explains.
// test/mesh/walk.test.ts runs the walk.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { helm, objectsOf, ROOT } from './support/chart.js'
import { containerNamed } from './support/pod.js'

/** The indented commands of the page, each on one line. */
const commands = readFileSync(join(ROOT, 'docs/mesh.md'), 'utf8')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.startsWith('    '))
  .map((line) => line.trim())

function only(pattern: RegExp): string {
  const found = commands.filter((command) => pattern.test(command))
  if (found.length !== 1)
    throw new Error(`${String(found.length)} commands match ${pattern.source}`)
  return found[0] ?? ''
}

/** Flags as FLAG=VALUE, of a command or of a container. */
const flagsIn = (text: string): readonly string[] =>
  (text.match(/--[a-z-]+(?:[ =][^\s-]\S*)?/g) ?? []).map((flag) => flag.replace(' ', '='))

/** The namespaces of the pods that run the Envoys, with the default settings of each mesh. */
const NAMESPACES = { 'envoy-gateway': 'envoy-gateway-system', istio: 'default' } as const

test.each(['envoy-gateway', 'istio'] as const)('the walk for %s', (mesh) => {
  const serve = only(new RegExp(`^gatehouse serve --kubernetes --for ${mesh} `))
  const at = commands.indexOf(`MESH=${mesh}`)
  const envoys = commands[at + 1]?.replace('ENVOYS=', '') ?? ''
  const install = only(/^helm install .*--set mesh=\$MESH/)
    .replace('$MESH', mesh)
    .replace('$ENVOYS', envoys)
    .replaceAll('"', '')
  const args = install.split(' ').filter((arg) => !/^(helm|install|--create-namespace)$/.test(arg))
  const { status, stdout, stderr } = helm('template', ...args, '--kube-version', '1.35.0')
  expect({ status, stderr }).toMatchObject({ status: 0 })
  const objects = objectsOf(stdout)
  const { args: given = [] } = containerNamed(objects, 'gatehouse')
  expect(flagsIn(serve).length).toBeGreaterThan(3)
  expect(flagsIn(given.join(' '))).toEqual(expect.arrayContaining([...flagsIn(serve)]))
  // Where NetworkPolicies are enforced, Gatehouse answers nobody else.
  const admitted = { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACES[mesh] } }
  expect(objects.find(({ kind }) => kind === 'NetworkPolicy')).toMatchObject({
    spec: {
      ingress: expect.arrayContaining([
        expect.objectContaining({
          from: expect.arrayContaining([{ namespaceSelector: admitted }]) as unknown,
        }),
      ]) as unknown,
    },
  })
})
