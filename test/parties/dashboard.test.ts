// The dashboard of deploy/grafana against Grafana's own schema: the types of @grafana/schema, which Grafana generates
// from it. Grafana itself is in no package registry that the tests use.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const TYPES = resolve(import.meta.dirname, 'node_modules/@grafana/schema/dist/types')
const FILE = join(ROOT, 'deploy/grafana/gatehouse.json')

interface Graph {
  readonly type: string
  readonly options: object
}

/** JSON has the values of enumerations, not their names. */
const PLAIN = `
type Plain<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Plain<T[K]> } : T
`

/** Returns what the compiler says about JSON of these types; "": nothing. */
function problemsOf(parts: readonly { readonly json: unknown; readonly type: string }[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-dashboard-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const imports = [
    `import type { Dashboard } from '${TYPES}/index.js'`,
    `import type { Options as timeseries } from '${TYPES}/raw/composable/timeseries/panelcfg/x/types.gen.js'`,
    `import type { Options as stat } from '${TYPES}/raw/composable/stat/panelcfg/x/types.gen.js'`,
  ]
  const constants = parts.map(
    ({ json, type }, at) => `export const _${at}: Plain<${type}> = ${JSON.stringify(json)}`,
  )
  writeFileSync(join(folder, 'dashboard.ts'), [...imports, PLAIN, ...constants, ''].join('\n'))
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: 'nodenext',
    target: 'es2022',
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['dashboard.ts'] }),
  )
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  return status === 0 ? '' : stdout
}

const dashboard = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly panels: readonly Graph[] }
const graphs = dashboard.panels.filter(({ type }) => type !== 'row')

test('it is a dashboard, and the options of each panel are those of its type', () => {
  const options = graphs.map(({ type, options: json }) => ({ json, type }))
  expect(graphs.length).toBeGreaterThan(5)
  expect(problemsOf([{ json: dashboard, type: 'Dashboard' }, ...options])).toBe('')
})

test('a dashboard that Grafana could not read is noticed', () => {
  const [graph] = graphs
  const wrong = {
    ...dashboard,
    graphTooltip: 'shared',
    panels: [{ ...graph, gridPos: { x: '0' } }],
  }
  const said = problemsOf([
    { json: wrong, type: 'Dashboard' },
    { json: { legend: { displayMode: 'below' } }, type: 'timeseries' },
  ])
  for (const name of ['DashboardCursorSync', "to type 'number'", '"below"'])
    expect(said).toContain(name)
})
